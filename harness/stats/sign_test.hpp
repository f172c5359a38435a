#pragma once

#include <span>

namespace stepgauge::stats {

// Sign test (Arbuthnot 1710): one-sided p value of H0 "the median of the differences is at most 0", the binomial chance
// of at least as many positive ones. A difference of 0 counts as not positive. One difference that is far off weighs no
// more than any other. No difference gives 1. Throws std::invalid_argument on a difference that is not finite.
double sign_test_p_above(std::span<const double> differences);

}  // namespace stepgauge::stats
