#include "verdict/gate_length.hpp"

#include <algorithm>
#include <random>

#include "stats/paired.hpp"
#include "verdict/detail/gate_looks.hpp"

namespace stepgauge::verdict {
namespace {

constexpr int rounds = 500;  ///< the mean is within a tenth of its spread, which is below half of a look's distance
constexpr std::uint64_t fixed_seed = 20261130;

/// New pairs after which a confirmation of these differences ends.
std::size_t pairs_taken(const std::vector<double>& differences, double theta, double level, const GatePolicy& policy) {
  double p = 1;
  for (const auto& look : policy.looks) {
    detail::GateSample sample;
    sample.worse.assign(differences.begin(), differences.begin() + static_cast<std::ptrdiff_t>(look.pairs));
    const auto paired = stats::paired(sample.worse);
    if (!paired) continue;
    sample.paired = *paired;
    sample.theta = theta;
    if (look.alpha_share > 0)
      p = std::min(p, stats::paired_p_above(*paired, policy.null_share * theta) / look.alpha_share);
    if (p < level && paired->mean >= policy.estimate_share * theta) return look.pairs;
    if (detail::not_worth_more(sample, Suspicion::worse, policy)) return look.pairs;
  }
  return policy.confirm_pairs;
}

}  // namespace

double expected_new_pairs(double effect, const GateOdds& row, std::size_t family, const GatePolicy& policy) {
  if (policy.looks.empty()) return static_cast<double>(policy.confirm_pairs);
  const double level = policy.alpha / static_cast<double>(std::max<std::size_t>(1, family));
  std::mt19937_64 random(fixed_seed);
  std::normal_distribution<> normal;
  std::vector<double> differences(policy.confirm_pairs);
  double sum = 0;
  for (int round = 0; round < rounds; ++round) {
    for (auto& value : differences) value = effect + row.sd * normal(random);
    sum += static_cast<double>(pairs_taken(differences, row.theta, level, policy));
  }
  return sum / rounds;
}

}  // namespace stepgauge::verdict
