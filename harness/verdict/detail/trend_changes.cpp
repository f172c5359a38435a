#include "verdict/detail/trend_changes.hpp"

#include <algorithm>
#include <cmath>

#include "stats/autocorrelation.hpp"
#include "stats/summary.hpp"
#include "stats/welch.hpp"

namespace stepgauge::verdict::detail {
namespace {

constexpr double least_correlation = 0.2;  ///< of one night with the next, as stats::cusum has it
constexpr double most_correlation = 0.9;
constexpr double little_more = 1.05;  ///< an inflation that grows by less is the same
constexpr double small_steps = 1e-6;  ///< what the smallest change in points comes to as a share
constexpr double confidence = 0.95;

bool is_told(std::size_t night, bool worse, const std::vector<TrendAlarm>& alarms) {
  return std::any_of(alarms.begin(), alarms.end(), [&](const TrendAlarm& alarm) {
    return alarm.worse == worse && nights_apart(alarm.change, night) <= same_change;
  });
}

double level_in_unit(std::span<const double> tip, Scale scale) {
  const double mean = *stats::mean(tip);
  return scale == Scale::ratio ? std::exp(mean) : mean;
}

TrendChange change_of(const stats::EnergyChange& found, const Track& track, std::size_t first, const AlarmRule& rule) {
  const auto before = found.index - found.begin, after = found.end - found.index;
  const auto part = [&](const std::vector<double>& values, std::size_t begin, std::size_t count) {
    return std::span(values).subspan(first + begin, count);
  };
  const auto step =
      step_between(part(track.values, found.begin, before), part(track.values, found.index, after), rule.scale);
  TrendChange out;
  out.night = track.nights[first + found.index];
  out.last_good = track.nights[first + found.index - 1];
  out.localised = before >= sure_nights && after >= sure_nights;
  out.worse = (step.difference > 0) == rule.higher_is_worse;
  out.before = level_in_unit(part(track.tip, found.begin, before), rule.scale);
  out.after = level_in_unit(part(track.tip, found.index, after), rule.scale);
  out.size = step.size;
  out.ci_lower = step.ci_lower;
  out.ci_upper = step.ci_upper;
  return out;
}

/// Of the variance of means, by what is left of the values about their levels.
double inflation_about(std::span<const double> values, const std::vector<stats::EnergyChange>& changes) {
  std::vector<double> rest;
  std::size_t begin = 0;
  const auto take_level = [&](std::size_t end) {
    const auto level = values.subspan(begin, end - begin);
    for (const double value : level) rest.push_back(value - *stats::mean(level));
    begin = end;
  };
  for (const auto& change : changes) take_level(change.index);
  take_level(values.size());
  const auto found = stats::autocorrelation(rest);
  if (!found || found->r1 <= least_correlation) return 1;
  const double r = std::min(found->r1, most_correlation);
  return (1 + r) / (1 - r);
}

std::vector<stats::EnergyChange> settled_changes(std::span<const double> values, const AlarmRule& rule) {
  ChangePointRule search;
  search.min_size = rule.theta / 2;
  for (;;) {
    auto out = change_points(values, rule.scale, search);
    const double needed = inflation_about(values, out);
    if (needed <= little_more * search.inflation) return out;
    search.inflation = needed;
  }
}

}  // namespace

double as_change(Scale scale, double difference) {
  return scale == Scale::ratio ? std::expm1(difference) : difference;
}

std::size_t nights_apart(std::size_t a, std::size_t b) {
  return a > b ? a - b : b - a;
}

LevelStep step_between(std::span<const double> before, std::span<const double> after, Scale scale) {
  const auto sample = stats::compare(before, after, stats::Scale::points);
  LevelStep out;
  out.difference = sample->diff;
  out.size = as_change(scale, sample->diff);
  if (const auto interval = stats::confidence_interval(*sample, confidence)) {
    out.ci_lower = as_change(scale, interval->lower);
    out.ci_upper = as_change(scale, interval->upper);
  }
  return out;
}

std::vector<stats::EnergyChange> change_points(std::span<const double> values, Scale scale,
                                               const ChangePointRule& rule) {
  const double least = *std::min_element(values.begin(), values.end());
  const bool ratio = scale == Scale::ratio;
  // The search asks for values of one sign, and for its smallest change as a share of them. Points become shares of
  // about 1, so small that a share of the one level is that of the other; neither step moves a change point.
  const double share = rule.min_size > 0 ? small_steps / rule.min_size : 1;
  std::vector<double> positive;
  for (const double value : values) positive.push_back(ratio ? std::exp(value - least) : 1 + (value - least) * share);
  const double magnitude = ratio ? std::expm1(rule.min_size) : rule.min_size * share;
  return stats::energy_changes_in_windows(
      positive, {.window = rule.window, .min_magnitude = magnitude, .inflation = rule.inflation});
}

std::vector<TrendChange> weekly_changes(const Track& track, const std::vector<TrendAlarm>& alarms,
                                        const AlarmRule& rule) {
  const auto count = std::min(track.values.size(), rule.policy.change_nights);
  const auto first = track.values.size() - count;
  std::vector<TrendChange> out;
  for (const auto& found : settled_changes(std::span(track.values).last(count), rule)) {
    const auto change = change_of(found, track, first, rule);
    if (!is_told(change.night, change.worse, alarms)) out.push_back(change);
  }
  return out;
}

}  // namespace stepgauge::verdict::detail
