#pragma once
// What the new pairs of a confirmation say at each look, and when they are enough.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "verdict/detail/gate_sample.hpp"
#include "verdict/gate.hpp"

namespace stepgauge::verdict::detail {

/// The looks of a policy; without any, one at all confirming pairs.
std::vector<GateLook> looks_of(const GatePolicy& policy);

/// The sample as seen in the direction of a suspicion: for the worse as it is, for the better mirrored.
stats::Paired towards(Suspicion direction, stats::Paired sample);
std::vector<double> towards(Suspicion direction, std::vector<double> differences);

/// More pairs are unlikely to confirm: the mean says so, and it is not one pair that is far off which makes it say so.
/// Reads `worse`, `paired` and `theta` of the sample.
bool not_worth_more(const GateSample& sample, Suspicion direction, const GatePolicy& policy);

/// Tests of one sample of new pairs against H0 "diff <= null_share * theta", in the direction of the suspicion.
struct GateTests {
  double p = 1, p_sign_flip = 1, hodges_lehmann = 0;  ///< the last one on the scale of the differences, not mirrored
  bool same_p = true;                                 ///< t and sign-flip test agree about unstable_alpha
  bool same_centre = true;                            ///< mean and Hodges-Lehmann estimate agree
  bool large = false;                                 ///< the estimate is at least estimate_share * theta
};
GateTests tests_of(const GateSample& sample, Suspicion direction, const GatePolicy& policy);

/// A row under suspicion at the looks whose pairs are all made.
struct GateProgress {
  std::size_t looks = 0;             ///< taken
  std::optional<GateSample> sample;  ///< pairs up to the last of them; nullopt with fewer than two values
  GateTests tests{};                 ///< of that sample
  double p = 1;                      ///< smallest p / alpha_share over the looks, at most 1
  bool complete = false;             ///< all looks are taken
  bool decided = false;              ///< confirmed or given up at one of them, or the last one is taken
  std::string bad;                   ///< why the values cannot be compared
};
GateProgress progress_of(const GateCell& cell, const GateRow& row, Suspicion direction, std::size_t family,
                         const GatePolicy& policy);

}  // namespace stepgauge::verdict::detail
