#pragma once

#include <cstddef>
#include <optional>

#include "stats/test_plan.hpp"

// What the one-sided paired t test (paired.hpp) can see, and the pairs that it needs. Effects, margin and sd (of
// the differences of the pairs) share one scale. All throw std::invalid_argument on a number that is not finite,
// a negative sd, alpha outside (0, 0.5), power outside (alpha, 1), and those with n on fewer than two pairs.
namespace stepgauge::stats {

// Smallest true effect that n pairs find with the wanted power, as every verdict prints it (statistics.md 3.5
// item 5): margin + (t_{1 - alpha, n - 1} + t_{power, n - 1}) * sd / sqrt(n). A shifted central t stands for the
// noncentral one; the exact power there is within a point of the wanted one from n = 5 on.
double paired_mde(double sd, std::size_t n, const TestPlan& plan = {});

// Chance that n pairs reject when this effect is true: exact for normal differences, by the noncentral t
// distribution. Without sd, 1 above the margin and 0 up to it.
double paired_power(double effect, double sd, std::size_t n, const TestPlan& plan = {});

// Chance that n pairs reject and have a mean of at least `least` as well, a floor on the estimate such as the gate's:
// P = E_u[P(mean >= max(least, margin + t_{1 - alpha, n - 1} sd u / sqrt(n)))], u^2 (n - 1) chi-squared with n - 1
// degrees of freedom, by quadrature over u (to 1e-8). Without sd, 1 when the effect is above the margin and at least
// `least`.
double paired_power_at_least(double effect, double sd, std::size_t n, const TestPlan& plan, double least);

// Fewest pairs, at least 2, whose paired_power reaches the wanted one; nullopt when that takes more than cap, or
// the effect is not above the margin.
std::optional<std::size_t> pairs_needed(double effect, double sd, const TestPlan& plan = {}, std::size_t cap = 1000);

}  // namespace stepgauge::stats
