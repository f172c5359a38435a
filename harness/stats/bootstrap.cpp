#include "stats/bootstrap.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "stats/detail/require.hpp"
#include "stats/summary.hpp"

namespace stepgauge::stats {
namespace {

constexpr double tie_rounding = 1e-12;  // relative: a resampled statistic this near to the seen one equals it

double finite(double value) {
  detail::require(std::isfinite(value), "the statistic must be finite");
  return value;
}

std::vector<double> resampled(std::span<const double> values, const Statistic& statistic, const BootstrapRule& rule) {
  std::mt19937_64 engine(rule.seed);
  std::uniform_int_distribution<std::size_t> pick(0, values.size() - 1);
  std::vector<double> sample(values.size());
  std::vector<double> statistics(rule.resamples);
  for (double& result : statistics) {
    for (double& value : sample) value = values[pick(engine)];
    result = finite(statistic(sample));
  }
  return statistics;
}

// A sixth of the skewness of the statistic's influence, from the sample with each value left out once.
double acceleration(std::span<const double> values, const Statistic& statistic) {
  std::vector<double> left_out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<double> rest(values.begin(), values.end());
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    left_out.push_back(finite(statistic(rest)));
  }
  const double centre = *mean(left_out);
  double squares = 0.0;
  double cubes = 0.0;
  for (const double value : left_out) {
    squares += (centre - value) * (centre - value);
    cubes += (centre - value) * (centre - value) * (centre - value);
  }
  return squares == 0.0 ? 0.0 : cubes / (6.0 * squares * std::sqrt(squares));
}

// Share of resamples below the statistic; those equal to it count half, as they must for a median.
double share_below(std::span<const double> statistics, double seen) {
  const double tie = tie_rounding * std::abs(seen);
  double below = 0.0;
  for (const double value : statistics) below += value < seen - tie ? 1.0 : value <= seen + tie ? 0.5 : 0.0;
  return below / static_cast<double>(statistics.size());
}

}  // namespace

std::optional<Interval> bca_interval(std::span<const double> values, const Statistic& statistic,
                                     const BootstrapRule& rule) {
  detail::require_finite(values);
  detail::require(rule.confidence > 0.0 && rule.confidence < 1.0, "the confidence must be within (0, 1)");
  detail::require(rule.resamples >= 100, "a bootstrap has at least 100 resamples");
  if (values.size() < 2) return std::nullopt;
  // Sorted, so that the same values in another order give the same resamples.
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double seen = finite(statistic(sorted));
  const std::vector<double> statistics = resampled(sorted, statistic, rule);
  const double below = share_below(statistics, seen);
  if (below <= 0.0 || below >= 1.0) return std::nullopt;

  const boost::math::normal normal;
  const double bias = boost::math::quantile(normal, below);
  const double a = acceleration(sorted, statistic);
  const auto bound = [&](double probability) {
    const double shifted = bias + boost::math::quantile(normal, probability);
    return *quantile(statistics, boost::math::cdf(normal, bias + shifted / (1.0 - a * shifted)));
  };
  return Interval{bound(0.5 * (1.0 - rule.confidence)), bound(0.5 * (1.0 + rule.confidence))};
}

}  // namespace stepgauge::stats
