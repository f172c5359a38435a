#include "stats/cusum.hpp"

#include <algorithm>
#include <cmath>

#include "stats/detail/require.hpp"
#include "stats/summary.hpp"

namespace stepgauge::stats {
namespace {

constexpr std::size_t fewest_nights = 10;
constexpr double range_in_sigma = 3.6;  // Q95 - Q05; 3.29 when normal, where the MAD shall decide
constexpr double material_r1 = 0.2;
constexpr double largest_r1 = 0.9;

void require_rule(const CusumRule& rule) {
  detail::require(std::isfinite(rule.floor) && rule.floor > 0.0, "the smallest sigma must be positive");
  detail::require(rule.alarm_nights >= fewest_nights, "alarms need at least ten nights");
  detail::require(rule.model_nights >= rule.alarm_nights, "the model must hold the nights that alarms need");
  detail::require(rule.slack >= 0.0 && rule.clip > rule.slack, "the clip must be above the slack");
  detail::require(std::isfinite(rule.threshold) && rule.threshold > 0.0, "the threshold must be positive");
}

void require_acknowledged(std::span<const std::size_t> acknowledged, std::size_t nights) {
  for (std::size_t i = 0; i < acknowledged.size(); ++i) {
    detail::require(acknowledged[i] > 0 && acknowledged[i] < nights, "an acknowledged night lies outside the series");
    detail::require(i == 0 || acknowledged[i - 1] < acknowledged[i], "the acknowledged nights must ascend");
  }
}

// Appends the nights about their own median.
void append_residuals(std::span<const double> nights, std::vector<std::vector<double>>& segments) {
  const double centre = *median(nights);
  segments.emplace_back(nights.begin(), nights.end());
  for (double& value : segments.back()) value -= centre;
}

double robust_sigma(const std::vector<std::vector<double>>& segments, double floor) {
  std::vector<double> all;
  for (const auto& segment : segments) all.insert(all.end(), segment.begin(), segment.end());
  const double by_range = (*quantile(all, 0.95) - *quantile(all, 0.05)) / range_in_sigma;
  return std::max({mad_to_sd * *median_absolute_deviation(all), by_range, floor});
}

// Pooled over the segments; limit: of a residual, so that one wild night does not decide.
double lag1(const std::vector<std::vector<double>>& segments, double limit) {
  double products = 0.0;
  double squares = 0.0;
  for (const auto& segment : segments) {
    double last = 0.0;
    for (const double residual : segment) {
      const double clipped = std::clamp(residual, -limit, limit);
      products += last * clipped;
      squares += clipped * clipped;
      last = clipped;
    }
  }
  return squares == 0.0 ? 0.0 : products / squares;
}

struct Level {
  double centre;
  double sigma;
  double r1;
};

// segments: residuals of those before; nights: of the present one.
Level level_of(std::vector<std::vector<double>> segments, std::span<const double> nights, const CusumRule& rule) {
  append_residuals(nights, segments);
  const double sigma = robust_sigma(segments, rule.floor);
  const double r1 = lag1(segments, rule.clip * sigma);
  const double used = std::min(r1, largest_r1);
  return {*median(nights), r1 > material_r1 ? sigma * std::sqrt((1.0 + used) / (1.0 - used)) : sigma, r1};
}

// Appends the alarms of one direction; `begin` is the night of the first value.
void run_sum(std::span<const double> nights, const Level& level, bool upward, const CusumRule& rule, std::size_t begin,
             std::vector<CusumAlarm>& alarms) {
  double sum = 0.0;
  std::size_t start = 0;
  bool alarmed = false;
  for (std::size_t night = 0; night < nights.size(); ++night) {
    const double z = std::clamp((nights[night] - level.centre) / level.sigma, -rule.clip, rule.clip);
    sum = std::max(0.0, sum + (upward ? z : -z) - rule.slack);
    if (sum == 0.0) {
      start = night + 1;
      alarmed = false;
    } else if (sum > rule.threshold && !alarmed) {
      alarms.push_back({begin + night, begin + start, upward});
      alarmed = true;
    }
  }
}

}  // namespace

std::optional<CusumResult> cusum(std::span<const double> values, std::span<const std::size_t> acknowledged,
                                 const CusumRule& rule) {
  detail::require_finite(values);
  require_rule(rule);
  require_acknowledged(acknowledged, values.size());
  const std::size_t segment_begin = acknowledged.empty() ? 0 : acknowledged.back();
  const std::size_t nights = std::min(values.size() - segment_begin, rule.model_nights);
  if (nights < fewest_nights) return std::nullopt;
  const std::size_t begin = values.size() - nights;
  const auto present = values.subspan(begin);

  std::vector<std::vector<double>> earlier;
  std::size_t from = 0;
  for (const std::size_t change : acknowledged) {
    append_residuals(values.subspan(from, change - from), earlier);
    from = change;
  }
  const std::size_t settled = nights >= rule.guard_nights + fewest_nights ? nights - rule.guard_nights : nights;
  const Level level = level_of(earlier, present.first(settled), rule);

  CusumResult result{.model = {begin, settled, level.centre, level.sigma, level.r1}, .alarms = {}};
  if (nights < rule.alarm_nights) return result;
  run_sum(present, level, true, rule, begin, result.alarms);
  run_sum(present, level, false, rule, begin, result.alarms);
  std::sort(result.alarms.begin(), result.alarms.end(), [](const auto& a, const auto& b) { return a.night < b.night; });
  return result;
}

}  // namespace stepgauge::stats
