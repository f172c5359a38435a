#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "verdict/trend.hpp"

namespace stepgauge::verdict::detail {

/// A night's value on the scale of the metric: mean of ln values, or mean. nullopt without values, and for a value <= 0
/// on the ratio scale.
std::optional<double> night_value(const std::vector<double>& launches, Scale scale);

/// The nights of a segment that have a value, in order.
struct Track {
  std::vector<std::size_t> nights;
  std::vector<double> values;  ///< as night_value, less the control build's where against_reference
  std::vector<double> tip;     ///< of the tip alone
  bool against_reference = false;
};

/// The track from night `begin` on. Against the control build only when that of the last night ran in `min_nights` of
/// them: a level that lost or changed its reference would jump without any change of the code.
Track track_of(const TrendSeries& series, const std::vector<TrendNight>& nights, std::size_t begin,
               std::size_t min_nights);

/// The track of the control build itself: the nights of its newest build.
Track reference_track(const TrendSeries& series, const std::vector<TrendNight>& nights);

}  // namespace stepgauge::verdict::detail
