#pragma once

#include <optional>
#include <span>
#include <vector>

#include "verdict/detail/trend_track.hpp"
#include "verdict/trend.hpp"

namespace stepgauge::verdict::detail {

/// Centre and noise of the nights before one, on the scale of the track.
struct Level {
  double centre = 0;
  double sigma = 0;    ///< never below the floor
  bool exact = false;  ///< all nights the same: a difference is a fact
};

struct AlarmRule {
  Scale scale = Scale::ratio;
  bool higher_is_worse = true;
  double theta = 0;  ///< what counts as a change, on the scale of the track
  TrendPolicy policy;
};

/// Of at most the last `centre_nights` of the values, which must not be empty: their median; and the larger of 1.4826
/// MAD and the normal equivalent of the range of their quantiles 0.05 and 0.95, times sqrt((1 + r) / (1 - r)) when
/// their lag-1 correlation r is above 0.2. The noise has a floor: 0.2 % on the ratio scale, a tenth of theta in points.
Level level_of(std::span<const double> values, const AlarmRule& rule);

/// The changes of level of a track, in order. Each night is judged by the level of those before it (estimated anew
/// every five nights): CUSUM of z clipped at 3.5, slack 0.5, limit 8. The change is placed at the nearest change point
/// (E-divisive, p < 0.001, three nights on either side), a new level begins there, and is watched when it has
/// `min_nights`. Then the jump of the last nights: beyond six times the noise and 2 theta, or theta where the nights
/// before were all the same. Simulated on normal noise: 1 to 2 % of series alarm falsely in 30 nights (3 % with 2 %
/// gross outliers); a step of 2 sigma is found after 6.6 nights, of 3 after 4.2, of 5 after 2.9. Everything but
/// `machine` and `blocks` is set.
std::vector<TrendAlarm> alarms_of(const Track& track, const AlarmRule& rule);

/// exp(d) - 1 on the ratio scale, d itself on the points scale.
double as_change(Scale scale, double difference);

}  // namespace stepgauge::verdict::detail
