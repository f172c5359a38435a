#pragma once

#include <optional>

#include "stats/paired.hpp"

namespace stepgauge::stats {

// What older A/A pairs of the same cell and metric, at least 20, tell of the spread of its differences.
struct SpreadPrior {
  double variance;   // s0^2, in the squared unit of the differences; above 0
  double df = 10.0;  // d0: the weight of the prior, as many degrees of freedom; above 0
};

// Above this ratio s^2 / s0^2 the pairs contradict the prior: the noise of the cell has changed.
inline constexpr double largest_moderated_ratio = 4.0;

// The sample with a moderated variance (Smyth 2004): s~^2 = (d0 s0^2 + (n - 1) s^2) / (d0 + n - 1) and
// df = d0 + n - 1. Few pairs then have more power as long as the noise of the cell is what it was. Mean and n stay.
// nullopt when s^2 / s0^2 > largest_moderated_ratio; use the sample as it is. Throws std::invalid_argument on a
// variance or df of the prior that is not positive and finite.
std::optional<Paired> moderated(const Paired& sample, const SpreadPrior& prior);

}  // namespace stepgauge::stats
