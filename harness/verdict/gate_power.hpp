#pragma once
// What the gate's rules can see, before anything is measured: chances and pairs from a spread that is known. All of
// one row; effect, sd (of the pairs' differences) and theta share one scale, ln or points. Normal differences. Of a
// design with looks the last one alone, and of its screen the t test alone: what the early looks and the sign test find
// beside them is more than what giving up early loses (results/statistics), so that these chances are on the low side.
#include <cstddef>
#include <optional>

#include "verdict/gate_policy.hpp"

namespace stepgauge::verdict {

/// One row as a plan sees it.
struct GateOdds {
  double sd = 0;     ///< s_d
  double theta = 0;  ///< the threshold, above 0
};

/// Smallest change for the worse that so many new pairs confirm with policy.power (statistics.md 3.5 item 5): with the
/// family of Holm that many rows.
double smallest_seen(const GateOdds& row, std::size_t pairs, std::size_t family, const GatePolicy& policy);

/// The row is gateable: smallest_seen is within policy.pass_limit thresholds.
bool is_gateable(const GateOdds& row, std::size_t pairs, std::size_t family, const GatePolicy& policy);

/// Smallest theta that is gateable with this sd; 0 without spread.
double least_theta(double sd, std::size_t pairs, std::size_t family, const GatePolicy& policy);

/// Chance that the screen suspects the row of being worse when `effect` is true: p < screen_alpha and the mean at least
/// screen_share theta.
double suspicion_chance(double effect, const GateOdds& row, std::size_t pairs, const GatePolicy& policy);

/// Chance that new pairs confirm it: "effect <= null_share theta" rejected at alpha / family, and the mean at least
/// estimate_share theta.
double confirmation_chance(double effect, const GateOdds& row, std::size_t pairs, std::size_t family,
                           const GatePolicy& policy);

struct GatePairs {
  std::size_t screen = 0, confirm = 0;
};

/// Fewest pairs in all, at most `most`, with which both stages find `effect` with this chance; never fewer than
/// policy.screen_pairs and least_confirm_pairs. nullopt when that takes more.
std::optional<GatePairs> pairs_to_find(double effect, const GateOdds& row, double power, std::size_t family,
                                       const GatePolicy& policy, std::size_t most = 60);

}  // namespace stepgauge::verdict
