#pragma once

#include <cstdint>
#include <span>

namespace stepgauge::stats {

// Sign-flip randomisation test on the mean (Fisher 1935): one-sided p value of H0 "the differences of the pairs
// are symmetric about a centre <= margin", which the random order within pairs alone justifies; no normality.
//
// The p value is the share of the 2^n patterns of signs of (d_i - margin) whose sum is at least the one seen;
// ties count. Exact up to 24 differences. For more, 20,000 patterns drawn with the seed and
// (hits + 1) / (draws + 1), which keeps the level (Phipson and Smyth 2010). It cannot fall below 1/2^n. The
// order of the differences does not matter; no difference gives 1. Throws std::invalid_argument on a
// difference or margin that is not finite.
double sign_flip_p_above(std::span<const double> differences, double margin, std::uint64_t seed);

}  // namespace stepgauge::stats
