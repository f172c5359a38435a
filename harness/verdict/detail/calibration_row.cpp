#include "verdict/detail/calibration_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stats/autocorrelation.hpp"
#include "stats/successive.hpp"
#include "stats/summary.hpp"
#include "stats/variance_components.hpp"
#include "verdict/detail/gate_sample.hpp"
#include "verdict/detail/wording.hpp"

namespace stepgauge::verdict::detail {
namespace {

/// Metrics that are the time of the steady window in other words: the noise of its steps is in them.
bool is_of_the_window(const std::string& metric) {
  return metric == "throughput" || metric == "throughput_per_gpu" || metric == "tflops" || metric == "mfu" ||
         metric == "cost";
}

struct Values {
  std::vector<std::vector<double>> sessions;  ///< in order of launch, as measured
  std::vector<double> all;
  double steps = 0;        ///< a launch, mean
  bool with_steps = true;  ///< every launch has steps
};

Values values_of(const std::string& metric, const std::vector<const CalibrationCell*>& sessions) {
  Values out;
  out.with_steps = is_of_the_window(metric);
  for (const auto* session : sessions) {
    auto& values = out.sessions.emplace_back();
    for (const auto& launch : session->launches) {
      const auto found = launch.values.find(metric);
      if (found == launch.values.end()) continue;
      values.push_back(found->second);
      out.all.push_back(found->second);
      out.with_steps = out.with_steps && launch.steps.has_value();
      if (launch.steps) out.steps += static_cast<double>(launch.steps->count);
    }
    if (values.empty()) out.sessions.pop_back();
  }
  if (!out.all.empty()) out.steps /= static_cast<double>(out.all.size());
  return out;
}

std::vector<stats::Session> nested(const std::string& metric, const std::vector<const CalibrationCell*>& sessions,
                                   bool ratio, bool with_steps) {
  std::vector<stats::Session> out;
  for (const auto* session : sessions) {
    auto& launches = out.emplace_back();
    for (const auto& launch : session->launches) {
      const auto found = launch.values.find(metric);
      if (found == launch.values.end()) continue;
      stats::LaunchValue value{.value = ratio ? std::log(found->second) : found->second};
      if (with_steps) value.steps = {launch.steps->variance, launch.steps->count, launch.steps->inflation};
      launches.push_back(value);
    }
  }
  return out;
}

void fill_components(CalibrationRow& row, const std::vector<stats::Session>& sessions, double steps) {
  const auto components = stats::variance_components(sessions);
  const auto root = [](const std::optional<double>& variance) {
    return variance ? std::optional(std::sqrt(*variance)) : std::nullopt;
  };
  row.sigma_session = root(components.session);
  row.sigma_launch = root(components.launch);
  row.sigma_step = root(components.step);
  if (!components.step) return;
  row.inflation = components.inflation;
  row.steps = steps;
  row.steps_needed = stats::steps_needed(components);
}

void fill_spread(CalibrationRow& row, const std::vector<std::vector<double>>& sessions) {
  const auto spread = stats::successive(sessions);
  if (!spread) return;
  row.between = spread->plain_sd;
  row.spread = spread->sd;
  row.spread_df = spread->df;
  row.successive_ratio = spread->ratio;
  row.drift_z = spread->z;
  row.exact = spread->sd == 0;
  double sum = 0;
  std::size_t count = 0;
  for (const auto& values : sessions) {
    if (const auto found = stats::autocorrelation(values)) {
      sum += found->r1;
      ++count;
    }
  }
  if (count > 0) row.lag1 = sum / static_cast<double>(count);
}

void set_tolerance(CalibrationRow& row, const Cell& cell, const MetricInfo& metric, const GateWish& wish) {
  row.tolerance = metric.tolerance;
  row.floor = metric.floor;
  if (const auto own = cell.tolerance.find(metric.name); own != cell.tolerance.end()) {
    row.tolerance = own->second.relative.value_or(row.tolerance);
    row.floor = own->second.floor.value_or(row.floor);
  }
  if (wish.tolerance && row.scale == Scale::ratio) row.tolerance = *wish.tolerance;
  if (const auto wished = wish.tolerances.find(metric.name); wished != wish.tolerances.end())
    row.tolerance = wished->second;
}

std::optional<double> as_size(const CalibrationRow& row, double diff) {
  const double size = row.scale == Scale::ratio ? std::expm1(diff) : diff;
  return std::isfinite(size) ? std::optional(size) : std::nullopt;
}

std::string noise_text(const CalibrationRow& row, const GateWish& wish) {
  auto out = fmt::format(
      "launches in succession differ by {}: the smallest change that {} new pairs show is {}, more than {} times {}",
      size_text(row, *row.spread), wish.gate.confirm_pairs, row.mde ? size_text(row, *row.mde) : "beyond all measure",
      wish.gate.pass_limit, size_text(row, *row.threshold));
  if (row.scale == Scale::ratio && row.least_tolerance)
    out +=
        fmt::format("; gateable from a tolerance of {}", size_text(row, std::ceil(1000 * *row.least_tolerance) / 1000));
  return out;
}

/// What a gate could see of the row.
void plan_gate(CalibrationRow& row, const GateWish& wish) {
  const bool ratio = row.scale == Scale::ratio;
  row.threshold = ratio ? std::max(row.tolerance, row.floor / *row.level)
                        : std::max(row.tolerance * std::abs(*row.level), row.floor);
  const double theta = ratio ? std::log1p(*row.threshold) : *row.threshold;
  row.least_tolerance = as_size(row, least_theta(*row.spread, wish.gate.confirm_pairs, wish.family, wish.gate));
  if (theta <= 0) {
    row.reason = "its tolerance is 0: no noise is small enough";
    return;
  }
  if (row.exact) {
    row.gateable = true;
    row.mde = row.threshold;
    row.power = 1;
    row.false_suspicion = 0;
    row.needed = GatePairs{wish.gate.screen_pairs, 0};
    return;
  }
  const GateOdds odds{*row.spread, theta};
  row.mde = as_size(row, smallest_seen(odds, wish.gate.confirm_pairs, wish.family, wish.gate));
  row.gateable = is_gateable(odds, wish.gate.confirm_pairs, wish.family, wish.gate);
  row.power = suspicion_chance(theta, odds, wish.gate.screen_pairs, wish.gate) *
              confirmation_chance(theta, odds, wish.gate.confirm_pairs, wish.family, wish.gate);
  row.false_suspicion = std::min(1.0, 2 * suspicion_chance(0, odds, wish.gate.screen_pairs, wish.gate));
  row.needed = pairs_to_find(theta, odds, wish.power, wish.family, wish.gate, wish.most_pairs);
  if (!row.gateable) row.reason = noise_text(row, wish);
}

std::string unit_of(const std::string& metric, const std::vector<const CalibrationCell*>& sessions, bool& mixed) {
  std::string out;
  for (const auto* session : sessions) {
    const auto found = session->units.find(metric);
    if (found == session->units.end()) continue;
    mixed = mixed || (!out.empty() && out != found->second);
    out = found->second;
  }
  return out;
}

}  // namespace

std::optional<CalibrationRow> calibration_row(const Cell& cell, const MetricInfo& metric,
                                              const std::vector<const CalibrationCell*>& sessions,
                                              const GateWish& wish) {
  auto values = values_of(metric.name, sessions);
  if (values.all.empty()) return std::nullopt;
  CalibrationRow row;
  row.cell = cell.id;
  row.metric = metric.name;
  row.better = metric.better;
  row.scale = metric.scale;
  row.blocking = metric.blocking;
  bool mixed = false;
  row.unit = unit_of(metric.name, sessions, mixed);
  row.launches = values.all.size();
  row.sessions = values.sessions.size();
  set_tolerance(row, cell, metric, wish);
  const bool ratio = row.scale == Scale::ratio;
  const auto bad = std::find_if(values.all.begin(), values.all.end(), [&](double x) { return !usable(x, row.scale); });
  if (mixed) {
    row.reason = "its unit changed between the sessions";
  } else if (bad != values.all.end()) {
    row.reason = fmt::format("a launch has a value of {}", *bad);
  } else if (row.launches < least_launches) {
    row.reason = fmt::format("{} launches have a value, {} are needed", row.launches, least_launches);
  } else {
    row.level = ratio ? stats::geometric_mean(values.all) : stats::mean(values.all);
    if (ratio) {
      for (auto& session : values.sessions) {
        for (auto& value : session) value = std::log(value);
      }
    }
    fill_spread(row, values.sessions);
    fill_components(row, nested(metric.name, sessions, ratio, values.with_steps), values.steps);
    row.measured = row.spread.has_value();
    if (row.measured) {
      plan_gate(row, wish);
    } else {
      row.reason = "no session has two launches with a value";
    }
  }
  return row;
}

}  // namespace stepgauge::verdict::detail
