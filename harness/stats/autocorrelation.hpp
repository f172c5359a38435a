#pragma once

#include <optional>
#include <span>

namespace stepgauge::stats {

// How much less than n independent steps a run of n steps tells about its mean, for planning and warnings.
struct Autocorrelation {
  double r1;         // sum (x_i - m)(x_i+1 - m) / sum (x_i - m)^2
  double inflation;  // of the variance of the mean, (1 + r1) / (1 - r1); below 1 for a negative r1
  double n_eff;      // n / inflation
};

// nullopt for fewer than three values or no spread. Throws std::invalid_argument on a value that is not
// finite.
std::optional<Autocorrelation> autocorrelation(std::span<const double> values);

}  // namespace stepgauge::stats
