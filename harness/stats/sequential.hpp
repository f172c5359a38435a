#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stats/paired.hpp"

// Group-sequential paired test: looks at the pairs so far after n1 < n2 < ... of them, and stops early when the answer
// is clear, at one overall one-sided level. A plain t test at every look would raise that level (0.05 at looks
// after 5, 10 and 15 pairs becomes 0.105, simulated).
namespace stepgauge::stats {

// H0: "true mean <= margin". Divide alpha by the number of tests first.
struct SequentialPlan {
  double alpha = 0.05;  // overall, one-sided
  double power = 0.8;   // at the effect that the plan can see, SequentialTest::drift
};

struct SequentialLook {
  std::size_t pairs;                   // so far
  double spent_alpha;                  // chance of a rejection up to this look when the mean is at the margin
  double reject_z;                     // boundary for a known sd
  double reject_t;                     // H0 is rejected when t of the pairs is at least this
  std::optional<double> futility_t{};  // the test may stop without a rejection when t is at most this; none last
};

struct SequentialTest {
  // (effect - margin) * sqrt(all pairs) / sd of the effect that is found with the wanted power when the test
  // stops at every boundary: the smallest detectable effect is margin + drift * sd / sqrt(all pairs).
  double drift;
  std::vector<SequentialLook> looks;
};

enum class SequentialDecision {
  go_on,      // run the pairs up to the next look
  above,      // the mean is above the margin
  not_above,  // the mean is not shown to be above, and further pairs are unlikely to show it
};

// Boundaries of the alpha-spending function of Lan and DeMets (1983) of O'Brien-Fleming type,
// 2 - 2 Phi(z_{1 - alpha / 2} / sqrt(t)), t the share of the pairs. Early looks ask for very clear differences and the
// last one for little more than a single test. Futility spends 1 - power in the same way under the drift. It does
// not bind: reject_z ignores it, so that the level holds whether the test stops there or goes on.
//
// Approximation: the boundaries are exact for a known sd (recursive integration, Armitage, McPherson and Rowe 1969);
// reject_t has the tail of reject_z at n - 1 df (Pocock 1977). Simulated level at nominal 0.05 when futility is
// ignored: 0.0515 with looks at 5, 10 and 15 pairs, 0.0534 at 3, 6, 9, 12 and 15; 0.047 and 0.048 when it is not. The
// power under the drift is 0.77 instead of 0.80 there, for the want of df; pairs_needed gives the exact one of a
// single look.
//
// Throws std::invalid_argument on no look, looks that do not ascend or begin below 2 pairs, alpha outside (0, 0.5) or
// power outside (alpha, 1).
SequentialTest sequential_test(std::span<const std::size_t> pairs, const SequentialPlan& plan = {});

// What the pairs of one look say. Without spread the mean is a fact. Throws std::invalid_argument when the sample does
// not have the look's pairs.
SequentialDecision decide(const Paired& sample, const SequentialLook& look, double margin);

}  // namespace stepgauge::stats
