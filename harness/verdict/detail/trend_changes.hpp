#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stats/energy_change_point.hpp"
#include "verdict/detail/trend_track.hpp"
#include "verdict/trend.hpp"

namespace stepgauge::verdict::detail {

struct AlarmRule {
  Scale scale = Scale::ratio;
  bool higher_is_worse = true;
  double theta = 0;  ///< what counts as a change, on the scale of the track
  TrendPolicy policy;
};

inline constexpr std::size_t sure_nights = 5;  ///< on either side of a change before its commit range is narrow
inline constexpr std::size_t same_change = 3;  ///< nights that two findings of one change may be apart
std::size_t nights_apart(std::size_t a, std::size_t b);

/// exp(d) - 1 on the ratio scale, d itself on the points scale.
double as_change(Scale scale, double difference);

/// One level against another.
struct LevelStep {
  double difference = 0;                     ///< on the scale of the track
  double size = 0;                           ///< as_change() of it
  std::optional<double> ci_lower, ci_upper;  ///< 95 %, as changes
};
/// Means of `after` against `before`, neither of them empty; no interval where one has a single night.
LevelStep step_between(std::span<const double> before, std::span<const double> after, Scale scale);

/// E-divisive change points of values on the scale of a track, p < 0.001, three nights on either side.
struct ChangePointRule {
  std::size_t window = 50;  ///< nights that are searched at once
  double min_size = 0;      ///< on the scale of the track: changes of up to this size are dropped
  double inflation = 1;     ///< stats::EnergyWindowRule::inflation
};
std::vector<stats::EnergyChange> change_points(std::span<const double> values, Scale scale,
                                               const ChangePointRule& rule);

/// The weekly pass: the change points of the last `change_nights` of a track, of theta / 2 at least, but for those that
/// an alarm has told already (within three nights, in the same direction). Nights that are correlated by more than 0.2
/// about the levels that were found are searched again with the variance of their means inflated accordingly, until
/// that changes nothing: one that wanders would be split again and again. With five nights on either side they name
/// their commits.
std::vector<TrendChange> weekly_changes(const Track& track, const std::vector<TrendAlarm>& alarms,
                                        const AlarmRule& rule);

}  // namespace stepgauge::verdict::detail
