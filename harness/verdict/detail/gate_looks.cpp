#include "verdict/detail/gate_looks.hpp"

#include <algorithm>
#include <cmath>

#include "stats/hodges_lehmann.hpp"
#include "stats/sign_flip.hpp"
#include "stats/summary.hpp"
#include "verdict/detail/rounding.hpp"

namespace stepgauge::verdict::detail {
namespace {

void take(const GateLook& look, Suspicion direction, std::size_t family, const GatePolicy& policy, GateProgress& out) {
  if (!out.sample) return;
  const auto& sample = *out.sample;
  if (sample.exact) {  // the screen had spread: a few values that agree may do so by chance, and have no p value
    out.decided = out.decided || not_worth_more(sample, direction, policy);
    return;
  }
  out.tests = tests_of(sample, direction, policy);
  if (look.alpha_share > 0) out.p = std::min(out.p, out.tests.p / look.alpha_share);
  const double level = policy.alpha / static_cast<double>(std::max<std::size_t>(1, family));
  const bool confirmed = out.p < level && out.tests.large && out.tests.same_p && out.tests.same_centre;
  out.decided = out.decided || confirmed || not_worth_more(sample, direction, policy);
}

}  // namespace

std::vector<GateLook> looks_of(const GatePolicy& policy) {
  if (policy.looks.empty()) return {{policy.confirm_pairs, 1}};
  return policy.looks;
}

stats::Paired towards(Suspicion direction, stats::Paired sample) {
  if (direction == Suspicion::better) sample.mean = -sample.mean;
  return sample;
}

std::vector<double> towards(Suspicion direction, std::vector<double> differences) {
  if (direction == Suspicion::better) {
    for (auto& value : differences) value = -value;
  }
  return differences;
}

bool not_worth_more(const GateSample& sample, Suspicion direction, const GatePolicy& policy) {
  const double enough = policy.estimate_share * sample.theta;
  const auto paired = towards(direction, sample.paired);
  const bool low = paired.mean < policy.stop_share * sample.theta ||
                   stats::paired_upper_bound(paired, policy.stop_confidence) < enough;
  return low && *stats::median(towards(direction, sample.worse)) < enough;
}

GateTests tests_of(const GateSample& sample, Suspicion direction, const GatePolicy& policy) {
  GateTests out;
  const double null = policy.null_share * sample.theta;
  const auto paired = towards(direction, sample.paired);
  out.p = stats::paired_p_above(paired, null);
  out.p_sign_flip = stats::sign_flip_p_above(towards(direction, sample.worse), null, policy.seed);
  out.hodges_lehmann = stats::hodges_lehmann(sample.worse);
  out.same_p = (out.p < policy.unstable_alpha) == (out.p_sign_flip < policy.unstable_alpha);
  out.same_centre = std::abs(out.hodges_lehmann - sample.paired.mean) <= policy.unstable_share * sample.theta;
  out.large = paired.mean >= policy.estimate_share * sample.theta - rounding;
  return out;
}

GateProgress progress_of(const GateCell& cell, const GateRow& row, Suspicion direction, std::size_t family,
                         const GatePolicy& policy) {
  GateProgress out;
  const auto looks = looks_of(policy);
  for (const auto& look : looks) {
    if (!settled_up_to(cell, GateStage::confirm, look.pairs, policy)) break;
    const auto values = paired_values(cell, GateStage::confirm, row.metric, policy, look.pairs);
    ++out.looks;
    out.bad = bad_values(values, row.scale);
    out.sample = out.bad.empty() ? sample_of(values, row) : std::nullopt;
    if (!out.bad.empty()) {
      out.decided = true;
      return out;
    }
    take(look, direction, family, policy, out);
  }
  out.complete = out.looks == looks.size();
  out.decided = out.decided || out.complete;
  return out;
}

}  // namespace stepgauge::verdict::detail
