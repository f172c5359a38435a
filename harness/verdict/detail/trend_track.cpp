#include "verdict/detail/trend_track.hpp"

#include <algorithm>
#include <cmath>

#include "stats/summary.hpp"

namespace stepgauge::verdict::detail {
namespace {

/// The track with tip and control build of the last night's control build.
Track against_reference(const TrendSeries& series, const std::vector<TrendNight>& nights, const Track& tip) {
  Track out;
  out.against_reference = true;
  const auto& newest = nights[tip.nights.back()].reference_commit;
  for (std::size_t i = 0; i < tip.nights.size(); ++i) {
    const auto night = tip.nights[i];
    if (!newest || nights[night].reference_commit != newest) continue;
    const auto reference = night_value(series.reference[night], series.metric->scale);
    if (!reference) continue;
    out.nights.push_back(night);
    out.tip.push_back(tip.tip[i]);
    out.values.push_back(tip.tip[i] - *reference);
  }
  return out;
}

}  // namespace

std::optional<double> night_value(const std::vector<double>& launches, Scale scale) {
  if (launches.empty()) return std::nullopt;
  if (scale == Scale::points) return stats::mean(launches);
  const auto mean = stats::geometric_mean(launches);
  return mean ? std::optional(std::log(*mean)) : std::nullopt;
}

Track track_of(const TrendSeries& series, const std::vector<TrendNight>& nights, std::size_t begin,
               std::size_t min_nights) {
  Track tip;
  for (std::size_t night = begin; night < nights.size(); ++night) {
    const auto value = night_value(series.tip[night], series.metric->scale);
    if (!value) continue;
    tip.nights.push_back(night);
    tip.tip.push_back(*value);
  }
  tip.values = tip.tip;
  if (tip.nights.empty()) return tip;
  auto both = against_reference(series, nights, tip);
  const bool enough = both.nights.size() >= min_nights && both.nights.back() == tip.nights.back();
  return enough ? both : tip;
}

Track reference_track(const TrendSeries& series, const std::vector<TrendNight>& nights) {
  Track out;
  const auto last = std::find_if(nights.rbegin(), nights.rend(),
                                 [](const TrendNight& night) { return night.reference_commit.has_value(); });
  if (last == nights.rend()) return out;
  for (std::size_t night = 0; night < nights.size(); ++night) {
    if (nights[night].reference_commit != last->reference_commit) continue;
    const auto value = night_value(series.reference[night], series.metric->scale);
    if (!value) continue;
    out.nights.push_back(night);
    out.values.push_back(*value);
  }
  out.tip = out.values;
  return out;
}

}  // namespace stepgauge::verdict::detail
