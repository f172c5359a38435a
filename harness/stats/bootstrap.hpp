#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "stats/interval.hpp"

namespace stepgauge::stats {

// A number computed from a sample whatever the order of its values; at least one value.
using Statistic = std::function<double(std::span<const double>)>;

struct BootstrapRule {
  double confidence = 0.95;  // two-sided
  std::size_t resamples = 10000;
  std::uint64_t seed = 0;
};

// Bias-corrected and accelerated bootstrap interval of a statistic without a distribution of its own, such as a
// median or a ratio (Efron 1987): quantiles of the resampled statistic, shifted by the bias z0 and the acceleration of
// the jackknife. With fewer than about 15 values it is too narrow; prefer paired_interval where that applies. The
// order of the values does not matter. The statistic itself, twice, when no resample changes it.
// nullopt for fewer than two values, or when all resamples lie on one side of the statistic. Throws
// std::invalid_argument on a value or statistic that is not finite, a confidence outside (0, 1), or fewer than 100
// resamples.
std::optional<Interval> bca_interval(std::span<const double> values, const Statistic& statistic,
                                     const BootstrapRule& rule = {});

}  // namespace stepgauge::stats
