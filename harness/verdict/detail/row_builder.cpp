#include "verdict/detail/row_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "stats/session_comparison.hpp"
#include "stats/summary.hpp"

namespace stepgauge::verdict::detail {
namespace {

struct Values {
  std::vector<double> numbers;
  std::vector<std::vector<double>> sessions;  ///< of a baseline: the same, by the session that the records name
  std::string unit;
  std::string absent;  ///< first reason given
  bool mixed_units = false;
};

Values values_of(const CellResults& cell, const std::string& metric, bool by_session = false) {
  Values out;
  std::map<std::string, std::size_t> places;
  for (const auto& launch : cell.launches) {
    if (launch.status != Status::ok) continue;
    const auto found = launch.metrics.find(metric);
    if (found == launch.metrics.end()) continue;
    const auto& value = found->second;
    if (!value.value) {
      if (out.absent.empty()) out.absent = value.absent;
      continue;
    }
    if (out.numbers.empty()) out.unit = value.unit;
    out.mixed_units = out.mixed_units || out.unit != value.unit;
    out.numbers.push_back(*value.value);
    if (!by_session) continue;
    const auto session = optional<std::string>(launch.detail, "session", "", "launch");
    const auto place = places.emplace(session, places.size()).first->second;
    if (place == out.sessions.size()) out.sessions.emplace_back();
    out.sessions[place].push_back(*value.value);
  }
  return out;
}

bool usable(const std::vector<double>& numbers, Scale scale) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [&](double x) { return std::isfinite(x) && (scale == Scale::points || x > 0); });
}

void fill_side(Side& side, const Values& values, Scale scale) {
  side.n = values.numbers.size();
  if (!usable(values.numbers, Scale::points)) return;
  side.mean = stats::mean(values.numbers);
  if (scale == Scale::ratio && usable(values.numbers, scale)) side.mean = stats::geometric_mean(values.numbers);
  side.cv = stats::coefficient_of_variation(values.numbers);
}

void settle_row(Row& row, Verdict verdict, std::string reason) {
  row.verdict = verdict;
  row.reason = std::move(reason);
}

/// Head has no ok launch.
void settle_unmeasured(Row& row, const Outcome& head) {
  const auto left_out = head.count(Status::skipped) + head.count(Status::unsupported);
  const auto reason = "head: " + head.text();
  if (head.launches == left_out) {
    settle_row(row, Verdict::missing, reason);
  } else if (head.failed() == 0) {
    settle_row(row, Verdict::inconclusive, reason);  // disturbed from outside: says nothing of head
  } else {
    settle_row(row, Verdict::invalid, reason);
  }
}

std::string absent_text(const char* side, const Values& values, const Outcome& outcome) {
  if (outcome.ok() == 0) return fmt::format("{}: {}", side, outcome.text());
  return fmt::format("{}: no value{}{}", side, values.absent.empty() ? "" : ": ", values.absent);
}

std::string cannot_compare(const Values& base, const Values& head, Scale scale) {
  const bool in_base = !usable(base.numbers, scale);
  const auto& numbers = in_base ? base.numbers : head.numbers;
  const auto bad = std::find_if(numbers.begin(), numbers.end(),
                                [&](double x) { return !std::isfinite(x) || (scale == Scale::ratio && x <= 0); });
  return fmt::format("cannot compare: {} has a value of {}", in_base ? "base" : "head", *bad);
}

Row start_row(const Pair& pair, const MetricInfo& metric) {
  Row row;
  row.cell = pair.head->cell.id;
  if (pair.base->cell.hash != pair.head->cell.hash) row.base_cell = pair.base->cell.id;
  row.metric = metric.name;
  row.better = metric.better;
  row.scale = metric.scale;
  row.blocking = metric.blocking;
  row.perturbed = is_perturbed(pair.head->cell);
  row.tolerance = metric.tolerance;
  row.floor = metric.floor;
  const auto own = pair.head->cell.tolerance.find(metric.name);
  if (own != pair.head->cell.tolerance.end()) {
    row.tolerance = own->second.relative.value_or(row.tolerance);
    row.floor = own->second.floor.value_or(row.floor);
  }
  return row;
}

/// What counts as a change, as a fraction of base or in the unit.
double threshold_of(const Row& row) {
  if (row.scale == Scale::points) return std::max(row.tolerance * std::abs(*row.base.mean), row.floor);
  return std::max(row.tolerance, row.floor / *row.base.mean);
}

void measure(Row& row, const Values& base, const Values& head, std::size_t index, std::vector<Measured>& measured) {
  const bool ratio = row.scale == Scale::ratio;
  const auto scale = ratio ? stats::Scale::ratio : stats::Scale::points;
  const auto sample = row.base_sessions > 1 ? stats::compare_to_sessions(base.sessions, head.numbers, scale)
                                            : stats::compare(base.numbers, head.numbers, scale);
  const auto as_change = [&](double diff) -> std::optional<double> {
    const double change = ratio ? stats::relative_effect(diff) : diff;
    return std::isfinite(change) ? std::optional(change) : std::nullopt;
  };
  row.threshold = threshold_of(row);
  row.exact = sample->exact;
  row.change = as_change(sample->diff);
  if (!row.change || !std::isfinite(*row.threshold)) {
    settle_row(row, Verdict::invalid, "cannot compare: base and head are too many orders of magnitude apart");
    return;
  }
  if (const auto interval = stats::confidence_interval(*sample, 0.95)) {
    row.ci_lower = as_change(interval->lower);
    row.ci_upper = as_change(interval->upper);
  }
  measured.push_back({index, row.better == Better::higher ? stats::mirrored(*sample) : *sample,
                      ratio ? std::log1p(*row.threshold) : *row.threshold});
}

/// The launches of head failed more often than those of base.
void add_launches_row(const Pair& pair, const Outcome& base, const Outcome& head, Comparison& out) {
  Row row;
  row.cell = pair.head->cell.id;
  if (pair.base->cell.hash != pair.head->cell.hash) row.base_cell = pair.base->cell.id;
  row.metric = launches_row;
  row.blocking = true;
  row.perturbed = is_perturbed(pair.head->cell);
  row.base.n = base.ok();
  row.head.n = head.ok();
  row.base.statuses = base.text();
  row.head.statuses = head.text();
  settle_row(row, Verdict::invalid,
             fmt::format("more launches failed than in base: {} (base: {})", head.text(), base.text()));
  out.rows.push_back(std::move(row));
}

}  // namespace

std::vector<const MetricInfo*> judged_metrics(const Policy& policy) {
  std::vector<const MetricInfo*> out;
  for (const auto& metric : metric_catalogue()) {
    const bool asked = policy.metrics.empty() ||
                       std::find(policy.metrics.begin(), policy.metrics.end(), metric.name) != policy.metrics.end();
    if (asked && metric.better != Better::neither) out.push_back(&metric);
  }
  return out;
}

void add_rows(const Pair& pair, const std::vector<const MetricInfo*>& metrics, bool stored, Comparison& out,
              std::vector<Measured>& measured) {
  const auto base_outcome = outcome_of(*pair.base);
  const auto head_outcome = outcome_of(*pair.head);
  const auto base_statuses = base_outcome.text();
  const auto head_statuses = head_outcome.text();
  bool any_base = false;
  for (const auto* metric : metrics) {
    const auto base = values_of(*pair.base, metric->name, stored);
    const auto head = values_of(*pair.head, metric->name);
    if (base.numbers.empty() && head.numbers.empty()) continue;
    any_base = any_base || !base.numbers.empty();
    auto& row = out.rows.emplace_back(start_row(pair, *metric));
    row.unit = base.numbers.empty() ? head.unit : base.unit;
    if (stored) row.base_sessions = base.sessions.size();
    row.base.statuses = base_statuses;
    row.head.statuses = head_statuses;
    fill_side(row.base, base, row.scale);
    fill_side(row.head, head, row.scale);
    if (!base.numbers.empty() && row.blocking) ++out.counts.expected;
    if (base.numbers.empty()) {
      settle_row(row, Verdict::missing, "no baseline; " + absent_text("base", base, base_outcome));
    } else if (head_outcome.ok() == 0) {
      settle_unmeasured(row, head_outcome);
    } else if (head.numbers.empty()) {
      settle_row(row, Verdict::missing, absent_text("head", head, head_outcome));
    } else if (base.mixed_units || head.mixed_units || base.unit != head.unit) {
      settle_row(row, Verdict::invalid, fmt::format("units differ: {} and {}", base.unit, head.unit));
    } else if (!usable(base.numbers, row.scale) || !usable(head.numbers, row.scale)) {
      settle_row(row, Verdict::invalid, cannot_compare(base, head, row.scale));
    } else {
      measure(row, base, head, out.rows.size() - 1, measured);
    }
  }
  if (head_outcome.ok() > 0 && head_outcome.failed() > base_outcome.failed()) {
    add_launches_row(pair, base_outcome, head_outcome, out);
  } else if (!any_base && head_outcome.ok() == 0) {
    out.notes.push_back(fmt::format("no ok launch on either side: {} (base: {}; head: {})", pair.head->cell.id,
                                    base_statuses, head_statuses));
  }
}

void add_missing_cell(const CellResults& base, const std::string& reason, const std::vector<const MetricInfo*>& metrics,
                      Comparison& out) {
  const auto statuses = outcome_of(base).text();
  for (const auto* metric : metrics) {
    if (!metric->blocking) continue;
    const auto values = values_of(base, metric->name);
    if (values.numbers.empty()) continue;
    ++out.counts.expected;
    auto& row = out.rows.emplace_back(start_row({&base, &base}, *metric));
    row.unit = values.unit;
    row.base.statuses = statuses;
    fill_side(row.base, values, row.scale);
    settle_row(row, Verdict::missing, reason);
  }
}

}  // namespace stepgauge::verdict::detail
