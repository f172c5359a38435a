#include "verdict/gate_power.hpp"

#include <algorithm>

#include "stats/paired_power.hpp"

namespace stepgauge::verdict {
namespace {

/// Of the last look.
double alpha_of(std::size_t family, const GatePolicy& policy) {
  const double share = policy.looks.empty() ? 1.0 : policy.looks.back().alpha_share;
  return policy.alpha * share / static_cast<double>(std::max<std::size_t>(1, family));
}

/// Smallest n within [from, most] with enough(n), which never turns false again; nullopt when there is none.
template <typename Predicate>
std::optional<std::size_t> fewest_from(std::size_t from, std::size_t most, const Predicate& enough) {
  if (from > most || !enough(most)) return std::nullopt;
  std::size_t low = from;
  while (low < most) {
    const std::size_t middle = low + (most - low) / 2;
    if (enough(middle)) {
      most = middle;
    } else {
      low = middle + 1;
    }
  }
  return most;
}

}  // namespace

double smallest_seen(const GateOdds& row, std::size_t pairs, std::size_t family, const GatePolicy& policy) {
  return stats::paired_mde(row.sd, pairs, {alpha_of(family, policy), policy.power, policy.null_share * row.theta});
}

bool is_gateable(const GateOdds& row, std::size_t pairs, std::size_t family, const GatePolicy& policy) {
  return smallest_seen(row, pairs, family, policy) <= policy.pass_limit * row.theta;
}

double least_theta(double sd, std::size_t pairs, std::size_t family, const GatePolicy& policy) {
  return smallest_seen({sd, 0}, pairs, family, policy) / (policy.pass_limit - policy.null_share);
}

double suspicion_chance(double effect, const GateOdds& row, std::size_t pairs, const GatePolicy& policy) {
  return stats::paired_power_at_least(effect, row.sd, pairs, {policy.screen_alpha, policy.power, 0},
                                      policy.screen_share * row.theta);
}

double confirmation_chance(double effect, const GateOdds& row, std::size_t pairs, std::size_t family,
                           const GatePolicy& policy) {
  return stats::paired_power_at_least(effect, row.sd, pairs,
                                      {alpha_of(family, policy), policy.power, policy.null_share * row.theta},
                                      policy.estimate_share * row.theta);
}

std::optional<GatePairs> pairs_to_find(double effect, const GateOdds& row, double power, std::size_t family,
                                       const GatePolicy& policy, std::size_t most) {
  std::optional<GatePairs> best;
  for (auto screen = policy.screen_pairs; screen + least_confirm_pairs <= most; ++screen) {
    const double suspected = suspicion_chance(effect, row, screen, policy);
    if (suspected < power) continue;
    const auto limit = best ? best->screen + best->confirm - 1 : most;
    if (limit <= screen) break;
    const auto confirm = fewest_from(least_confirm_pairs, limit - screen, [&](std::size_t pairs) {
      return suspected * confirmation_chance(effect, row, pairs, family, policy) >= power;
    });
    if (confirm) best = GatePairs{screen, *confirm};
    if (suspected > 0.9999) break;  // more screening pairs add nothing
  }
  return best;
}

}  // namespace stepgauge::verdict
