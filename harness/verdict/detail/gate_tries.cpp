#include "verdict/detail/gate_tries.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stepgauge::verdict::detail {
namespace {

bool spoilt(const GateTry& one) {
  return one.base.use == LaunchUse::outside || one.head.use == LaunchUse::outside || !one.spoilt.empty();
}

std::string why_spoilt(const GateTry& one) {
  if (!one.spoilt.empty()) return one.spoilt;
  return one.base.use == LaunchUse::outside ? "base: " + one.base.what : "head: " + one.head.what;
}

const GateTry* last_try(const GateCell& cell, int pair) {
  const auto found =
      std::find_if(cell.tries.rbegin(), cell.tries.rend(), [pair](const GateTry& one) { return one.pair == pair; });
  return found == cell.tries.rend() ? nullptr : &*found;
}

struct PairRange {
  int from = 0, to = 0;
};

PairRange pairs_of(GateStage stage, const GatePolicy& policy) {
  const auto screen = static_cast<int>(policy.screen_pairs);
  if (stage == GateStage::screen) return {0, screen};
  return {screen, screen + static_cast<int>(policy.confirm_pairs)};
}

void count(const GateLaunch& launch, std::size_t& launches, std::size_t& failed, std::string& first) {
  if (launch.use == LaunchUse::outside) return;
  ++launches;
  if (launch.use != LaunchUse::failed) return;
  if (failed++ == 0) first = launch.what;
}

const double* value_of(const GateLaunch& launch, const std::string& metric, PairedValues& out, std::string& absent) {
  const auto found = launch.metrics.find(metric);
  if (found == launch.metrics.end()) return nullptr;
  const auto& value = found->second;
  if (!value.value) {
    if (absent.empty()) absent = value.absent;
    return nullptr;
  }
  if (out.unit.empty()) out.unit = value.unit;
  if (value.unit != out.unit) out.other_unit = value.unit;
  return &*value.value;
}

}  // namespace

bool screened(const GateCell& cell, const GatePolicy& policy) {
  return settled_up_to(cell, GateStage::screen, policy.screen_pairs, policy);
}

bool settled_up_to(const GateCell& cell, GateStage stage, std::size_t count, const GatePolicy& policy) {
  const auto from = pairs_of(stage, policy).from;
  for (int pair = from; pair < from + static_cast<int>(count); ++pair) {
    if (pair_state(cell, pair, policy) != PairState::settled) return false;
  }
  return true;
}

std::size_t settled_pairs(const GateCell& cell, GateStage stage, const GatePolicy& policy) {
  const auto range = pairs_of(stage, policy);
  std::size_t out = 0;
  for (int pair = range.from; pair < range.to; ++pair) out += pair_state(cell, pair, policy) == PairState::settled;
  return out;
}

std::string gave_up_reason(const GateCell& cell, const GatePolicy& policy) {
  for (const auto& one : cell.tries) {
    if (pair_state(cell, one.pair, policy) != PairState::gave_up) continue;
    return fmt::format("pair {} was spoilt in each of {} tries, last: {}", one.pair + 1, policy.most_repeats + 1,
                       why_spoilt(*last_try(cell, one.pair)));
  }
  return "";
}

Failures failures(const GateCell& cell, GateStage stage) {
  Failures out;
  for (const auto& one : cell.tries) {
    if (one.stage != stage) continue;
    count(one.base, out.base_launches, out.base_failed, out.base_first);
    count(one.head, out.head_launches, out.head_failed, out.head_first);
  }
  return out;
}

bool head_fails(const Failures& count, const GatePolicy& policy) {
  const double share = policy.failed_share * static_cast<double>(count.head_launches);
  return count.base_failed == 0 && count.head_failed >= policy.least_failures &&
         static_cast<double>(count.head_failed) >= share - 1e-9;
}

bool failures_to_confirm(const GateCell& cell, const GatePolicy& policy) {
  const auto count = failures(cell, GateStage::screen);
  return head_fails(count, policy) && count.head_failed < count.head_launches;
}

bool failures_decided(const GateCell& cell, const GatePolicy& policy) {
  const auto needed = std::min(policy.failure_pairs, policy.confirm_pairs);
  if (settled_up_to(cell, GateStage::confirm, needed, policy)) return true;
  auto count = failures(cell, GateStage::confirm);
  count.head_launches = std::max(count.head_launches, needed);  // as if the others went well
  return head_fails(count, policy);
}

PairedValues paired_values(const GateCell& cell, GateStage stage, const std::string& metric, const GatePolicy& policy,
                           std::size_t most) {
  PairedValues out;
  auto range = pairs_of(stage, policy);
  if (most < static_cast<std::size_t>(range.to - range.from)) range.to = range.from + static_cast<int>(most);
  for (int pair = range.from; pair < range.to; ++pair) {
    const auto* one = last_try(cell, pair);
    if (one == nullptr || spoilt(*one)) continue;
    const auto* base = one->base.use == LaunchUse::ok ? value_of(one->base, metric, out, out.absent_base) : nullptr;
    const auto* head = one->head.use == LaunchUse::ok ? value_of(one->head, metric, out, out.absent_head) : nullptr;
    out.any_base = out.any_base || base != nullptr;
    out.any_head = out.any_head || head != nullptr;
    if (base == nullptr || head == nullptr) continue;
    out.base.push_back(*base);
    out.head.push_back(*head);
  }
  return out;
}

}  // namespace stepgauge::verdict::detail

namespace stepgauge::verdict {

PairState pair_state(const GateCell& cell, int pair, const GatePolicy& policy) {
  std::size_t dropped = 0;
  for (const auto& one : cell.tries) {
    if (one.pair != pair) continue;
    if (!detail::spoilt(one)) return PairState::settled;
    ++dropped;
  }
  return dropped > policy.most_repeats ? PairState::gave_up : PairState::open;
}

}  // namespace stepgauge::verdict
