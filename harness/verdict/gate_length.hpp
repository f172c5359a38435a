#pragma once
// How many new pairs a confirmation takes, before anything is measured.
#include "verdict/gate_power.hpp"

namespace stepgauge::verdict {

/// Mean number of new pairs until one row is decided, when `effect` is true: the policy's looks walked over simulated
/// normal differences, the same ones at every call. Effect, sd and theta share one scale. The check of stability, which
/// asks for more pairs where values are not normal, is left out. policy.confirm_pairs for a design of one look.
double expected_new_pairs(double effect, const GateOdds& row, std::size_t family, const GatePolicy& policy);

/// Spread of the pairs' differences, in thresholds, that a plan takes for typical where nobody calibrated: 1 % for a
/// tolerance of 2 %.
inline constexpr double typical_spread_share = 0.5;

}  // namespace stepgauge::verdict
