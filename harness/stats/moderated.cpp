#include "stats/moderated.hpp"

#include <cmath>

#include "stats/detail/require.hpp"

namespace stepgauge::stats {

std::optional<Paired> moderated(const Paired& sample, const SpreadPrior& prior) {
  detail::require(std::isfinite(prior.variance) && prior.variance > 0.0, "the variance of a prior must be positive");
  detail::require(std::isfinite(prior.df) && prior.df > 0.0, "the df of a prior must be positive");
  const double variance = sample.sd * sample.sd;
  if (variance > largest_moderated_ratio * prior.variance) return std::nullopt;
  Paired result = sample;
  result.df = prior.df + sample.df;
  result.sd = std::sqrt((prior.df * prior.variance + sample.df * variance) / result.df);
  result.standard_error = result.sd / std::sqrt(static_cast<double>(sample.n));
  return result;
}

}  // namespace stepgauge::stats
