#include "verdict/trend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "stats/summary.hpp"
#include "verdict/detail/calendar.hpp"
#include "verdict/detail/trend_alarms.hpp"
#include "verdict/detail/trend_confirmations.hpp"
#include "verdict/detail/trend_notes.hpp"
#include "verdict/detail/trend_track.hpp"

namespace stepgauge::verdict {
namespace {

using detail::Track;

constexpr std::size_t level_nights = 7;    ///< tell where a series is now, for creep
constexpr double certainty = 1.645;        ///< one-sided 95 % of the normal distribution
constexpr double median_inflation = 1.57;  ///< variance of a median of normal values over that of their mean

/// The acknowledgement that the current segment starts with: the latest night.
std::optional<KnownChange> segment_start(const TrendSeries& series) {
  std::optional<KnownChange> out;
  for (const auto& known : series.known) {
    if (!out || known.night >= out->night) out = known;
  }
  return out;
}

std::optional<std::size_t> last_with_value(const TrendSeries& series) {
  for (std::size_t night = series.tip.size(); night > 0; --night) {
    if (detail::night_value(series.tip[night - 1], series.metric->scale)) return night - 1;
  }
  return std::nullopt;
}

double in_unit(Scale scale, double value) {
  return scale == Scale::ratio ? std::exp(value) : value;
}

/// On the scale of the track, and as it is shown.
struct Threshold {
  double theta = 0, shown = 0;
};

Threshold threshold_of(const TrendSeries& series, double centre) {
  const double tolerance = series.tolerance.relative.value_or(series.metric->tolerance);
  const double floor = series.tolerance.floor.value_or(series.metric->floor);
  const double size = std::abs(centre);
  if (series.metric->scale == Scale::points) {
    const double points = std::max(tolerance * size, floor);
    return {points, points};
  }
  const double fraction = std::max(tolerance, floor / size);
  return {std::log1p(fraction), fraction};
}

double median_of_last(const std::vector<double>& values, std::size_t count) {
  const std::size_t n = std::min(values.size(), count);
  return *stats::median(std::span(values).last(n));
}

/// Level of the last nights against the pinned night, against the control build only where that night had the same one.
void add_creep(TrendRow& row, const TrendSeries& series, const Track& track, const TrendInput& input,
               std::optional<double> sigma) {
  if (!input.pin) return;
  const auto scale = series.metric->scale;
  const auto pinned = input.pin->night;
  auto base = detail::night_value(series.tip[pinned], scale);
  if (!base) return;
  auto now = median_of_last(track.tip, level_nights);
  const auto reference = detail::night_value(series.reference[pinned], scale);
  const auto last = track.nights.back();
  if (track.against_reference && reference &&
      input.nights[pinned].reference_commit == input.nights[last].reference_commit) {
    now = median_of_last(track.values, level_nights);
    *base -= *reference;
  }
  const double difference = now - *base;
  row.creep = detail::as_change(scale, difference);
  const auto n = static_cast<double>(std::min(track.values.size(), level_nights));
  if (!sigma) return;
  const double error = *sigma * std::sqrt(1 + median_inflation / n);
  const double worse = series.metric->better == Better::higher ? -difference : difference;
  row.crept = worse - certainty * error > threshold_of(series, in_unit(scale, *base)).theta;
}

detail::AlarmRule rule_of(const TrendSeries& series, double theta, const TrendPolicy& policy) {
  return {series.metric->scale, series.metric->better == Better::lower, theta, policy};
}

std::vector<TrendAlarm> machine_alarms(const TrendSeries& series, const TrendInput& input, const TrendPolicy& policy) {
  const auto track = detail::reference_track(series, input.nights);
  if (track.nights.size() < policy.min_nights) return {};
  const auto centre = in_unit(series.metric->scale, median_of_last(track.tip, policy.centre_nights));
  auto alarms = detail::alarms_of(track, rule_of(series, threshold_of(series, centre).theta, policy));
  std::erase_if(alarms, [](const TrendAlarm& alarm) { return alarm.over || alarm.small; });
  for (auto& alarm : alarms) alarm.machine = true;
  return alarms;
}

bool is_same_change(const TrendAlarm& a, const TrendAlarm& b) {
  return a.worse == b.worse && detail::nights_apart(a.change, b.change) <= detail::same_change;
}

void add_alarms(TrendRow& row, const TrendSeries& series, const Track& track, const std::vector<TrendAlarm>& machine,
                const detail::AlarmRule& rule) {
  row.alarms = detail::alarms_of(track, rule);
  for (auto& alarm : row.alarms) {
    alarm.machine = !track.against_reference && std::any_of(machine.begin(), machine.end(), [&](const auto& other) {
      return is_same_change(alarm, other);
    });
    alarm.confirmation = detail::confirmation_of(alarm, series.confirmations, rule);
    const bool refuted = alarm.confirmation && alarm.confirmation->verdict == ConfirmationVerdict::not_confirmed;
    alarm.blocks = series.metric->blocking && alarm.worse && !alarm.small && !alarm.single && !alarm.over &&
                   !alarm.machine && !refuted;
  }
}

/// Centre and noise of the level that was there before the first alarm that stands; both levels together would be
/// noisier than either.
detail::Level standing_level(const TrendRow& row, const Track& track, const detail::AlarmRule& rule) {
  std::span<const double> values(track.values);
  const auto stands = std::find_if(row.alarms.begin(), row.alarms.end(),
                                   [](const TrendAlarm& alarm) { return !alarm.small && !alarm.over; });
  if (stands != row.alarms.end()) {
    const auto change = std::lower_bound(track.nights.begin(), track.nights.end(), stands->change);
    values = values.first(static_cast<std::size_t>(change - track.nights.begin()));
  }
  return detail::level_of(values, rule);
}

void fill_numbers(TrendRow& row, const TrendSeries& series, const Track& track, const detail::Level& level) {
  const auto scale = series.metric->scale;
  row.nights = track.nights.size();
  row.last = in_unit(scale, track.tip.back());
  row.against_reference = track.against_reference;
  row.change = detail::as_change(scale, track.values.back() - level.centre);
  row.noise = level.sigma;
}

void set_state(TrendRow& row, const TrendInput& input, std::size_t first, const TrendPolicy& policy) {
  const auto missing = input.nights.size() - 1 - row.last_night;
  const bool open =
      std::any_of(row.alarms.begin(), row.alarms.end(), [](const auto& alarm) { return !alarm.over && !alarm.small; });
  if (missing > 0) {
    row.state = TrendState::vanished;
  } else if (first == row.last_night && input.nights.size() > 1) {
    row.state = TrendState::fresh;
  } else if (row.nights < policy.min_nights) {
    row.state = TrendState::shown;
  } else {
    row.state = open ? TrendState::alarm : TrendState::quiet;
  }
}

TrendRow start_row(const TrendSeries& series) {
  TrendRow row;
  row.cell = series.cell;
  row.metric = series.metric->name;
  row.unit = series.unit;
  row.better = series.metric->better;
  row.scale = series.metric->scale;
  row.blocking = series.metric->blocking;
  return row;
}

void count(const TrendRow& row, TrendCounts& counts) {
  ++counts.series;
  counts.alarm += row.state == TrendState::alarm;
  counts.quiet += row.state == TrendState::quiet;
  counts.shown += row.state == TrendState::shown;
  counts.fresh += row.state == TrendState::fresh;
  counts.vanished += row.state == TrendState::vanished;
}

bool are_searched(const TrendInput& input, const TrendPolicy& policy) {
  const auto& nights = input.nights;
  if (policy.changes == ChangeSearch::always) return true;
  return nights.size() > 1 &&
         detail::in_different_weeks(nights[nights.size() - 2].created_at, nights.back().created_at);
}

void add_changes(const TrendRow& row, const Track& track, const detail::AlarmRule& rule, Trend& out) {
  const bool young = row.state == TrendState::shown && row.nights >= rule.policy.least_nights;
  if (!out.changes || (row.state != TrendState::quiet && !young)) return;
  for (const auto& change : detail::weekly_changes(track, row.alarms, rule))
    out.changes->push_back({row.cell, row.metric, row.scale, row.unit, row.blocking, change});
}

/// Leaves out a series that never had a value, and one whose end was acknowledged.
void judge_series(const TrendSeries& series, const TrendInput& input, const std::vector<TrendAlarm>& machine,
                  const TrendPolicy& policy, Trend& out) {
  const auto last = last_with_value(series);
  if (!last) return;
  auto row = start_row(series);
  row.last_night = *last;
  row.known = segment_start(series);
  if (row.known && row.known->night > *last) return;
  const auto begin = row.known ? row.known->night : 0;
  const auto track = detail::track_of(series, input.nights, begin, policy.min_nights);
  row.centre = in_unit(series.metric->scale, median_of_last(track.tip, policy.centre_nights));
  const auto threshold = threshold_of(series, *row.centre);
  if (std::isfinite(threshold.shown)) row.threshold = threshold.shown;
  const auto rule = rule_of(series, threshold.theta, policy);
  add_alarms(row, series, track, machine, rule);
  const auto level = standing_level(row, track, rule);
  fill_numbers(row, series, track, level);
  add_creep(row, series, track, input, level.sigma);
  std::size_t first = 0;
  while (!detail::night_value(series.tip[first], series.metric->scale)) ++first;
  row.gap = track.nights.back() - track.nights.front() + 1 - track.nights.size();
  set_state(row, input, first, policy);
  row.reason = detail::reason_of(row, series, input, policy);
  add_changes(row, track, rule, out);
  count(row, out.counts);
  out.rows.push_back(std::move(row));
}

ExitCode exit_code_of(const Trend& trend) {
  const auto blocks = [](const TrendRow& row) {
    return std::any_of(row.alarms.begin(), row.alarms.end(), [](const auto& alarm) { return alarm.blocks; });
  };
  if (std::any_of(trend.rows.begin(), trend.rows.end(), blocks)) return ExitCode::regression;
  return trend.counts.alarm + trend.counts.quiet == 0 ? ExitCode::not_comparable : ExitCode::nothing_worse;
}

}  // namespace

Trend judge_trend(const TrendInput& input, const TrendPolicy& policy) {
  Trend out;
  out.suite = input.suite;
  out.machine = input.machine;
  out.nights = input.nights;
  out.pin = input.pin;
  out.notes = input.notes;
  if (are_searched(input, policy)) out.changes.emplace();
  for (const auto& series : input.series) {
    const auto machine = machine_alarms(series, input, policy);
    for (const auto& alarm : machine) {
      out.machine_alarms.push_back({series.cell, series.metric->name, series.metric->scale, series.unit, alarm});
    }
    judge_series(series, input, machine, policy, out);
  }
  for (auto& note : detail::trend_notes(input, out)) out.notes.push_back(std::move(note));
  out.exit_code = exit_code_of(out);
  return out;
}

}  // namespace stepgauge::verdict
