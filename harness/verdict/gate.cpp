#include "verdict/gate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "contract/plural.hpp"
#include "verdict/detail/gate_rows.hpp"
#include "verdict/detail/gate_rules.hpp"

namespace stepgauge::verdict {
namespace {

void count(const GateRow& row, Gate& out) {
  out.counts.add(row.verdict, row.change.has_value());
  out.not_gateable += !row.gateable;
}

void count(const GateLaunch& launch, ArmLaunches& out) {
  switch (launch.use) {
    case LaunchUse::ok:
      ++out.ok;
      break;
    case LaunchUse::failed:
      ++out.failed;
      break;
    case LaunchUse::outside:
      ++out.outside;
      break;
  }
}

void count(const GateCell& cell, Gate& out) {
  ++out.cells_expected;
  out.cells_measured += !cell.tries.empty();
  for (const auto& one : cell.tries) {
    count(one.base, out.base);
    count(one.head, out.head);
    out.spoilt_pairs += !one.spoilt.empty() || one.base.use == LaunchUse::outside || one.head.use == LaunchUse::outside;
  }
}

void add_notes(const std::vector<GateRow>& rows, const std::vector<detail::GateWork>& work, Gate& out) {
  const auto uneven = std::count_if(work.begin(), work.end(), [&](const detail::GateWork& item) {
    return rows[item.row].metric == "peak_memory" && (item.confirm ? *item.confirm : item.screen).uneven;
  });
  if (uneven > 0) {
    out.notes.push_back(fmt::format("peak_memory is the same in every launch of one arm only in {}: unexplained spread",
                                    plural(uneven, "cell")));
  }
  std::size_t perturbed = 0;
  for (const auto& row : rows) perturbed += row.perturbed;
  if (perturbed > 0) out.notes.push_back("cells marked * are PERTURBED on purpose: no verdict on real performance");
  if (out.counts.improved > 0)
    out.notes.push_back("what improved is worth a new baseline: stepgauge baseline save, of the run of head");
}

bool can_confirm(const GateCell& cell, const GatePolicy& policy) {
  return cell.unmatched.empty() && detail::screened(cell, policy) && detail::gave_up_reason(cell, policy).empty();
}

}  // namespace

std::string_view to_string(GateStage stage) {
  return stage == GateStage::screen ? "screen" : "confirm";
}

GateConfirmation to_confirm(const std::vector<GateCell>& cells, const GatePolicy& policy) {
  GateConfirmation out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Gate scratch;
    std::vector<detail::GateWork> work;
    if (cells[i].unmatched.empty()) detail::add_metric_rows(cells[i], policy, scratch, work);
    const auto own = detail::suspect_rows(scratch.rows, work, policy);
    out.family.worse += own.worse;
    out.family.better += own.better;
    if (!can_confirm(cells[i], policy)) continue;
    if (own.worse + own.better > 0 || detail::failures_to_confirm(cells[i], policy)) out.cells.push_back(i);
  }
  return out;
}

bool confirmation_ended(const GateCell& cell, const GateFamily& family, const GatePolicy& policy) {
  if (detail::failures_to_confirm(cell, policy) && !detail::failures_decided(cell, policy)) return false;
  Gate scratch;
  std::vector<detail::GateWork> work;
  detail::add_metric_rows(cell, policy, scratch, work);
  detail::suspect_rows(scratch.rows, work, policy);
  return std::all_of(work.begin(), work.end(), [&](const detail::GateWork& item) {
    const auto& row = scratch.rows[item.row];
    return row.suspicion == Suspicion::none ||
           detail::progress_of(cell, row, row.suspicion, family.of(row.suspicion), policy).decided;
  });
}

Gate judge_gate(const std::vector<GateCell>& cells, const GatePolicy& policy) {
  Gate out;
  std::vector<detail::GateWork> work;
  for (const auto& cell : cells) {
    count(cell, out);
    detail::add_gate_rows(cell, policy, out, work);
  }
  const auto family = detail::suspect_rows(out.rows, work, policy);
  detail::judge_rows(out.rows, work, family, policy);
  out.suspected = family.worse;
  for (const auto& row : out.rows) count(row, out);
  add_notes(out.rows, work, out);
  out.exit_code = exit_code_of(out.counts);
  return out;
}

}  // namespace stepgauge::verdict
