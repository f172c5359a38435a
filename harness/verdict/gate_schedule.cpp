#include "verdict/gate_schedule.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "verdict/detail/gate_looks.hpp"
#include "verdict/detail/gate_tries.hpp"

namespace stepgauge::verdict {
namespace {

/// SplitMix64 (Steele, Lea and Flood 2014), its output function: spreads neighbouring inputs over all bits.
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

}  // namespace

bool head_goes_first(std::uint64_t seed, std::size_t cell, std::size_t pair) {
  const auto drawn = mixed(mixed(seed) + 0x9e3779b97f4a7c15ull * (cell + 1));
  return ((drawn ^ pair) & 1) != 0;
}

std::size_t open_screen_pairs(const GateCell& cell, const GatePolicy& policy) {
  if (!cell.unmatched.empty()) return 0;
  std::size_t out = 0;
  for (int pair = 0; pair < static_cast<int>(policy.screen_pairs); ++pair)
    out += pair_state(cell, pair, policy) == PairState::open;
  return out;
}

GateSchedule::GateSchedule(const std::vector<GateCell>& cells, GatePolicy policy)
    : cells_(cells), policy_(std::move(policy)), all_(cells.size()), looked_(cells.size()) {
  std::iota(all_.begin(), all_.end(), std::size_t{0});
}

std::optional<GateStep> GateSchedule::next() {
  const auto screen = static_cast<int>(policy_.screen_pairs);
  if (stage_ == GateStage::screen) {
    if (const auto step = next_of(all_, 0, screen)) return step;
    stage_ = GateStage::confirm;
    confirmation_ = to_confirm(cells_, policy_);
    pair_ = screen;
    place_ = 0;
  }
  return next_of(confirmation_.cells, screen, screen + static_cast<int>(policy_.confirm_pairs));
}

std::size_t GateSchedule::pairs_to_next_look(std::size_t made) const {
  for (const auto& look : detail::looks_of(policy_)) {
    if (look.pairs > made) return look.pairs - made;
  }
  return 0;
}

std::optional<GateStep> GateSchedule::next_of(const std::vector<std::size_t>& cells, int from, int to) {
  for (pair_ = std::max(pair_, from); pair_ < to; ++pair_, place_ = 0) {
    for (; place_ < cells.size(); ++place_) {
      if (to_be_made(cells[place_], pair_)) return GateStep{stage_, cells[place_], pair_};
    }
  }
  return std::nullopt;
}

/// A cell of which a pair was given up is invalid, whatever its other pairs would show.
bool GateSchedule::to_be_made(std::size_t index, int pair) {
  const auto& cell = cells_[index];
  if (!cell.unmatched.empty() || !detail::gave_up_reason(cell, policy_).empty()) return false;
  if (pair_state(cell, pair, policy_) != PairState::open) return false;
  return stage_ == GateStage::screen || !ended(index, static_cast<std::size_t>(pair) - policy_.screen_pairs);
}

/// Failures are looked at after every pair, values at the looks alone.
bool GateSchedule::ended(std::size_t index, std::size_t made) {
  const auto looks = detail::looks_of(policy_);
  const bool look = std::any_of(looks.begin(), looks.end(), [&](const GateLook& one) { return one.pairs == made; });
  const auto& cell = cells_[index];
  auto& known = looked_[index];
  if (known.ended) return true;
  if (!detail::failures_to_confirm(cell, policy_) && (!look || known.pairs == made)) return false;
  known = {made, confirmation_ended(cell, confirmation_.family, policy_)};
  return known.ended;
}

}  // namespace stepgauge::verdict
