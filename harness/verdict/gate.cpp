#include "verdict/gate.hpp"

#include <fmt/format.h>

#include <algorithm>

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
    out.notes.push_back(
        fmt::format("peak_memory is the same in every launch of one arm only in {} cell{}: unexplained spread", uneven,
                    uneven == 1 ? "" : "s"));
  }
  std::size_t perturbed = 0;
  for (const auto& row : rows) perturbed += row.perturbed;
  if (perturbed > 0) out.notes.push_back("cells marked * are PERTURBED on purpose: no verdict on real performance");
  if (out.counts.improved > 0)
    out.notes.push_back("what improved is worth a new baseline: stepgauge baseline save, of the run of head");
}

bool screen_suspects(const GateCell& cell, const GatePolicy& policy) {
  Gate scratch;
  std::vector<detail::GateWork> work;
  detail::add_metric_rows(cell, policy, scratch, work);
  return std::any_of(work.begin(), work.end(), [&](const detail::GateWork& item) {
    return detail::suspicion_of(item.screen, policy) != Suspicion::none;
  });
}

bool failures_to_confirm(const GateCell& cell, const GatePolicy& policy) {
  const auto count = detail::failures(cell, GateStage::screen);
  return detail::head_fails(count, policy) && count.head_failed < count.head_launches;
}

bool can_confirm(const GateCell& cell, const GatePolicy& policy) {
  return cell.unmatched.empty() && detail::complete(cell, GateStage::screen, policy) &&
         detail::gave_up_reason(cell, policy).empty();
}

}  // namespace

std::string_view to_string(GateStage stage) {
  return stage == GateStage::screen ? "screen" : "confirm";
}

std::vector<std::size_t> cells_to_confirm(const std::vector<GateCell>& cells, const GatePolicy& policy) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!can_confirm(cells[i], policy)) continue;
    if (screen_suspects(cells[i], policy) || failures_to_confirm(cells[i], policy)) out.push_back(i);
  }
  return out;
}

bool confirmed_early(const GateCell& cell, const GatePolicy& policy) {
  if (!failures_to_confirm(cell, policy) || screen_suspects(cell, policy)) return false;
  auto count = detail::failures(cell, GateStage::confirm);
  count.head_launches = std::max(count.head_launches, policy.confirm_pairs);  // as if the others went well
  return detail::head_fails(count, policy);
}

Gate judge_gate(const std::vector<GateCell>& cells, const GatePolicy& policy) {
  Gate out;
  std::vector<detail::GateWork> work;
  for (const auto& cell : cells) {
    count(cell, out);
    detail::add_gate_rows(cell, policy, out, work);
  }
  out.suspected = detail::judge_rows(out.rows, work, policy);
  for (const auto& row : out.rows) count(row, out);
  add_notes(out.rows, work, out);
  out.exit_code = exit_code_of(out.counts);
  return out;
}

}  // namespace stepgauge::verdict
