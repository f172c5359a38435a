#pragma once

#include <span>
#include <vector>

// Adjusted p values for many tests, in the order given; a test is rejected when its adjusted p <= the level
// of the whole. Throws std::invalid_argument on a p value that is not finite or lies outside [0, 1].
namespace stepgauge::stats {

// Holm 1979, step-down: bounds the chance of any false rejection, whatever the dependence.
std::vector<double> holm_adjusted(std::span<const double> p_values);

// Benjamini-Hochberg 1995, step-up: bounds the expected share of false rejections, for independent or
// positively dependent tests.
std::vector<double> benjamini_hochberg_adjusted(std::span<const double> p_values);

}  // namespace stepgauge::stats
