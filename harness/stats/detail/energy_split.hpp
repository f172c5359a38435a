#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stepgauge::stats::detail {

struct EnergySplit {
  std::size_t index;  // first value of the later part
  double distance;    // scaled energy distance, Q of Matteson and James 2014, equation 7, with exponent 1
};

// The split of one stretch [tau, kappa) against [0, tau) with the largest distance over all tau and kappa, kappa
// up to the end: a later change must not thin out an earlier one. nullopt when no split leaves min_segment values
// on either side.
std::optional<EnergySplit> best_energy_split(std::span<const double> values, std::size_t min_segment);

// The best split over the stretches between consecutive bounds, the first of them 0 and the last the size.
std::optional<EnergySplit> best_energy_split(std::span<const double> values, const std::vector<std::size_t>& bounds,
                                             std::size_t min_segment);

}  // namespace stepgauge::stats::detail
