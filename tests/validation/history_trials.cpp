#include <algorithm>
#include <cmath>
#include <random>

#include "stats/energy_change_point.hpp"
#include "stats/summary.hpp"
#include "trials.hpp"
#include "verdict/trend.hpp"

namespace stepgauge::validation {
namespace {

struct NightsSetting {
  std::size_t quiet_nights = 60, nights = 30;
  double noise = 0, outlier_share = 0, outlier_size = 0, step = 0;
};

verdict::TrendInput new_history() {
  verdict::TrendInput out;
  out.suite = out.machine = "simulated";
  auto& series = out.series.emplace_back();
  series.cell = "cell";
  series.metric = find_metric("throughput");
  series.unit = series.metric->unit;
  series.last_outcome = "1 ok";
  return out;
}

void add_night(verdict::TrendInput& history, double ln_value) {
  const auto number = std::to_string(history.nights.size());
  history.nights.push_back({"run" + number, "2020-01-01T02:00:00Z", "commit" + number, std::nullopt});
  history.series[0].tip.push_back({100 * std::exp(ln_value)});
  history.series[0].reference.emplace_back();
}

struct Seen {
  bool alarm = false, blocks = false, placed = false;
  std::size_t delay = 0;  ///< nights until the alarm, the night of the change being the first
};

/// Adds the nights one by one and looks each morning.
Seen watch(verdict::TrendInput& history, const NightsSetting& setting, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto value = [&](double level) {
    const bool outlier = uniform(random) < setting.outlier_share;
    const double wild = outlier ? (uniform(random) < 0.5 ? 1 : -1) * setting.outlier_size : 0;
    return level + setting.noise * normal(random) + wild;
  };
  for (std::size_t i = 0; i < setting.quiet_nights; ++i) add_night(history, value(0));
  Seen out;
  std::vector<verdict::TrendAlarm> alarms;
  for (std::size_t i = 0; i < setting.nights; ++i) {
    add_night(history, value(-setting.step));
    const auto trend = verdict::judge_trend(history);
    const auto& row = trend.rows.at(0);
    alarms = row.alarms;
    const bool told = std::any_of(alarms.begin(), alarms.end(), [&](const verdict::TrendAlarm& alarm) {
      return !alarm.single && !alarm.over && alarm.night >= setting.quiet_nights && (setting.step == 0 || alarm.worse);
    });
    if (told && !out.alarm) out.delay = i + 1;
    out.alarm = out.alarm || told;
    out.blocks = out.blocks || trend.exit_code == ExitCode::regression;
  }
  const auto near = [&](const verdict::TrendAlarm& alarm) {
    const auto place = static_cast<double>(alarm.change), truth = static_cast<double>(setting.quiet_nights);
    return alarm.worse && std::abs(place - truth) <= 2;
  };
  out.placed = std::any_of(alarms.begin(), alarms.end(), near);
  return out;
}

}  // namespace

Json nights_trial(const Json& json) {
  NightsSetting setting;
  setting.quiet_nights = optional<std::size_t>(json, "quiet_nights", setting.quiet_nights, "nights");
  setting.nights = optional<std::size_t>(json, "nights", setting.nights, "nights");
  setting.noise = require<double>(json, "noise", "nights");
  setting.outlier_share = optional<double>(json, "outlier_share", 0, "nights");
  setting.outlier_size = optional<double>(json, "outlier_size", 0, "nights");
  setting.step = optional<double>(json, "step", 0, "nights");
  const auto count = require<std::size_t>(json, "series", "nights");
  std::seed_seq seeds{require<std::uint32_t>(json, "seed", "nights")};
  std::mt19937_64 random(seeds);
  std::size_t alarms = 0, blocks = 0, placed = 0;
  std::vector<double> delays;
  for (std::size_t i = 0; i < count; ++i) {
    auto history = new_history();
    const auto seen = watch(history, setting, random);
    alarms += seen.alarm;
    blocks += seen.blocks;
    placed += seen.alarm && seen.placed;
    if (seen.alarm) delays.push_back(static_cast<double>(seen.delay));
  }
  const auto delay = stats::median(delays);
  return {{"alarm", proportion(alarms, count)},
          {"blocks", proportion(blocks, count)},
          {"placed", proportion(placed, alarms)},
          {"median_delay", delay ? Json(*delay) : Json()}};
}

Json weekly_trial(const Json& json) {
  const auto nights = require<std::size_t>(json, "nights", "weekly"),
             count = require<std::size_t>(json, "series", "weekly");
  const auto change = optional<std::size_t>(json, "change", nights, "weekly");
  const auto noise = require<double>(json, "noise", "weekly"), r = optional<double>(json, "r1", 0, "weekly");
  const auto step = optional<double>(json, "step", 0, "weekly");
  std::seed_seq seeds{require<std::uint32_t>(json, "seed", "weekly")};
  std::mt19937_64 random(seeds);
  std::normal_distribution<double> normal;
  verdict::TrendPolicy policy;
  policy.changes = verdict::ChangeSearch::always;
  std::size_t searched = 0, found = 0, placed = 0, blocks = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto history = new_history();
    double wander = normal(random);
    for (std::size_t night = 0; night < nights; ++night) {
      add_night(history, noise * wander - (night >= change ? step : 0));
      wander = r * wander + std::sqrt(1 - r * r) * normal(random);
    }
    const auto trend = verdict::judge_trend(history, policy);
    searched += trend.rows.at(0).state != verdict::TrendState::alarm;
    found += !trend.changes->empty();
    blocks += trend.exit_code == ExitCode::regression;
    placed += std::any_of(trend.changes->begin(), trend.changes->end(), [&](const verdict::SeriesChange& item) {
      return item.change.worse && std::abs(static_cast<double>(item.change.night) - static_cast<double>(change)) <= 2;
    });
  }
  return {{"searched", proportion(searched, count)},
          {"found", proportion(found, count)},
          {"placed", proportion(placed, found)},
          {"blocks", proportion(blocks, count)}};
}

Json changes_trial(const Json& setting) {
  const auto values = require<std::vector<double>>(setting, "values", "changes");
  Json found = Json::array();
  for (const auto& list : require<Json>(setting, "lists", "changes")) {
    const stats::EnergyWindowRule rule{.window = 30,
                                       .max_p = require<double>(list, "max_p", "changes: list"),
                                       .min_magnitude = require<double>(list, "min_magnitude", "changes: list"),
                                       .min_segment = 1,
                                       .variant = stats::HunterVariant::as_in_otava};
    Json indices = Json::array();
    for (const auto& change : stats::energy_changes_in_windows(values, rule)) indices.push_back(change.index);
    found.push_back(indices);
  }
  return {{"found", found}};
}

}  // namespace stepgauge::validation
