#pragma once

#include <cstddef>

#include "stats/interval.hpp"

// Exact bounds of a proportion from successes in independent trials (Clopper and Pearson 1934): the confidence is at
// least the one asked for. Proportions in [0, 1]. Throws std::invalid_argument on no trial, more successes than
// trials, or a confidence outside (0, 1).
namespace stepgauge::stats {

// Two-sided.
Interval clopper_pearson(std::size_t successes, std::size_t trials, double confidence = 0.95);

// One-sided: 0 of n gives about 3 / n at 0.95, the rule of three.
double clopper_pearson_upper(std::size_t successes, std::size_t trials, double confidence = 0.95);

}  // namespace stepgauge::stats
