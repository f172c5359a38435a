#pragma once

#include <optional>
#include <span>
#include <vector>

#include "verdict/detail/trend_changes.hpp"

namespace stepgauge::verdict::detail {

/// Centre and noise of the last nights of a track, on its scale.
struct Level {
  double centre = 0;
  std::optional<double> sigma;  ///< stats::cusum's; nullopt below ten nights
  bool exact = false;           ///< all nights the same: a difference is a fact
};

/// Of at most the last `centre_nights` of the values, which must not be empty. The noise has a floor: 0.2 % on the
/// ratio scale, a tenth of theta in points.
Level level_of(std::span<const double> values, const AlarmRule& rule);

/// The changes of level of a track, in order. stats::cusum looks at the last `centre_nights` of every fifth night and
/// of each of the last `centre_nights`, so that what was once said of a night is said again the next day; its first
/// alarm about the nights just before is taken. The change is placed at the nearest change point (E-divisive, p <
/// 0.001, three nights on either side), and a new level begins there. Where the noise is twice that from one night to
/// the next and no sum rises, a change point with ten nights on either side and three times their noise is an alarm
/// too. Then the jump of the last nights: beyond six times the noise and 2 theta, or theta where the nights before were
/// all the same. Everything but `machine`, `confirmation` and
/// `blocks` is set.
std::vector<TrendAlarm> alarms_of(const Track& track, const AlarmRule& rule);

}  // namespace stepgauge::verdict::detail
