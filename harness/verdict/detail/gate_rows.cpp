#include "verdict/detail/gate_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stepgauge::verdict::detail {
namespace {

/// Name of the row of a cell that one arm does not have.
constexpr const char* cell_row = "cell";

GateRow start_row(const GateCell& cell, const std::string& metric) {
  GateRow row;
  const auto& named = cell.head.id.empty() ? cell.base : cell.head;
  row.cell = named.id;
  if (!cell.base.id.empty() && cell.base.id != row.cell) row.base_cell = cell.base.id;
  row.metric = metric;
  row.perturbed = is_perturbed(cell.base) || is_perturbed(cell.head);
  return row;
}

GateRow start_row(const GateCell& cell, const MetricInfo& metric) {
  auto row = start_row(cell, metric.name);
  row.better = metric.better;
  row.scale = metric.scale;
  row.tolerance = metric.tolerance;
  row.floor = metric.floor;
  if (const auto own = cell.head.tolerance.find(metric.name); own != cell.head.tolerance.end()) {
    row.tolerance = own->second.relative.value_or(row.tolerance);
    row.floor = own->second.floor.value_or(row.floor);
  }
  return row;
}

std::string failed_text(const char* arm, std::size_t failed, std::size_t launches, const std::string& first) {
  if (failed == 0) return fmt::format("{}: none of {}", arm, launches);
  return fmt::format("{}: {} of {} launches failed{}{}", arm, failed, launches,
                     first.empty() ? "" : ", first: ", first);
}

Failures sum(const Failures& a, const Failures& b) {
  return {a.head_launches + b.head_launches,
          a.head_failed + b.head_failed,
          a.base_launches + b.base_launches,
          a.base_failed + b.base_failed,
          a.head_first.empty() ? b.head_first : a.head_first,
          a.base_first.empty() ? b.base_first : a.base_first};
}

std::string text_of(const Failures& count) {
  return failed_text("head", count.head_failed, count.head_launches, count.head_first) + "; " +
         failed_text("base", count.base_failed, count.base_launches, count.base_first);
}

/// How launches that failed are judged; see judge_gate().
void judge_failures(GateRow& row, const GateCell& cell, const GatePolicy& policy) {
  const auto screen = failures(cell, GateStage::screen);
  const auto confirm = failures(cell, GateStage::confirm);
  const auto all = sum(screen, confirm);
  row.pairs = all.head_launches;
  if (!head_fails(screen, policy)) return settle(row, Verdict::invalid, text_of(all));
  if (screen.head_failed == screen.head_launches) return settle(row, Verdict::regressed, text_of(all));
  row.suspicion = Suspicion::worse;
  if (!failures_decided(cell, policy)) {
    auto reason = text_of(screen) + "; not confirmed";
    if (!cell.stopped.empty()) reason += ": " + cell.stopped;
    return settle(row, Verdict::inconclusive, reason);
  }
  row.stage = GateStage::confirm;
  row.pairs = confirm.head_launches;
  settle(row, head_fails(confirm, policy) ? Verdict::regressed : Verdict::invalid, text_of(confirm));
}

/// A row where head failed more often than base, or nothing of head went well.
void add_launches_row(const GateCell& cell, const GatePolicy& policy, Gate& out) {
  const auto count = sum(failures(cell, GateStage::screen), failures(cell, GateStage::confirm));
  if (count.head_failed == 0) {
    if (count.base_failed > 0)
      out.notes.push_back(fmt::format("{}: {}", cell.head.id,
                                      failed_text("base", count.base_failed, count.base_launches, count.base_first)));
    return;
  }
  if (count.head_failed <= count.base_failed && count.head_failed < count.head_launches) return;
  auto row = start_row(cell, launches_row);
  judge_failures(row, cell, policy);
  out.rows.push_back(std::move(row));
}

std::string lacking(const char* arm, const std::string& absent) {
  return fmt::format("{} has no value{}{}", arm, absent.empty() ? "" : ": ", absent);
}

/// Settles a row that has no numbers to judge; true when it did.
bool settle_without_numbers(GateRow& row, const PairedValues& values, const GateCell& cell, const GatePolicy& policy) {
  row.pairs = values.base.size();
  if (const auto reason = gave_up_reason(cell, policy); !reason.empty()) {
    settle(row, Verdict::invalid, reason);
  } else if (const auto bad = bad_values(values, row.scale); !bad.empty()) {
    settle(row, Verdict::invalid, bad);
  } else if (!values.any_base || !values.any_head) {
    const auto count = failures(cell, GateStage::screen);
    const bool failed =
        values.any_base ? count.head_failed == count.head_launches : count.base_failed == count.base_launches;
    settle(row, failed ? Verdict::invalid : Verdict::missing,
           failed ? text_of(count)
                  : (values.any_base ? lacking("head", values.absent_head) : lacking("base", values.absent_base)));
  } else if (values.base.size() < 2) {
    auto reason =
        fmt::format("{} of {} screening pairs have a value in both arms", values.base.size(), policy.screen_pairs);
    if (!cell.stopped.empty()) reason += ": " + cell.stopped;
    settle(row, Verdict::inconclusive, reason);
  } else {
    return false;
  }
  return true;
}

}  // namespace

GateRow metric_row(const GateCell& cell, const MetricInfo& metric) {
  return start_row(cell, metric);
}

void add_metric_rows(const GateCell& cell, const GatePolicy& policy, Gate& out, std::vector<GateWork>& work) {
  for (const auto& metric : metric_catalogue()) {
    if (!metric.blocking || metric.better == Better::neither) continue;
    const auto values = paired_values(cell, GateStage::screen, metric.name, policy);
    if (!values.any_base && !values.any_head) continue;
    ++out.counts.expected;
    auto& row = out.rows.emplace_back(start_row(cell, metric));
    row.unit = values.unit;
    if (settle_without_numbers(row, values, cell, policy)) continue;
    work.push_back({out.rows.size() - 1, &cell, *sample_of(values, row), std::nullopt, {}});
  }
}

void add_gate_rows(const GateCell& cell, const GatePolicy& policy, Gate& out, std::vector<GateWork>& work) {
  const auto before = out.rows.size();
  if (!cell.unmatched.empty()) {
    ++out.counts.expected;
    auto& row = out.rows.emplace_back(start_row(cell, cell_row));
    return settle(row, Verdict::missing, cell.unmatched);
  }
  add_metric_rows(cell, policy, out, work);
  add_launches_row(cell, policy, out);
  if (out.rows.size() > before) return;
  ++out.counts.expected;
  auto& row = out.rows.emplace_back(start_row(cell, launches_row));
  if (const auto reason = gave_up_reason(cell, policy); !reason.empty()) return settle(row, Verdict::invalid, reason);
  auto reason = std::string(cell.tries.empty() ? "no pair was made" : "no metric that blocks has a value");
  if (!cell.stopped.empty()) reason += ": " + cell.stopped;
  settle(row, Verdict::inconclusive, std::move(reason));
}

}  // namespace stepgauge::verdict::detail
