#include "stats/summary.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "stats/detail/require.hpp"

namespace stepgauge::stats {
namespace {

double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Reorders the values; at least one.
double median_in_place(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

}  // namespace

std::optional<double> mean(std::span<const double> values) {
  detail::require_finite(values);
  if (values.empty()) return std::nullopt;
  return sum(values) / static_cast<double>(values.size());
}

std::optional<double> trimmed_mean(std::span<const double> values, double share) {
  detail::require(share >= 0.0 && share < 0.5, "the trimmed share must be within [0, 0.5)");
  detail::require_finite(values);
  if (values.empty()) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto cut = static_cast<std::size_t>(share * static_cast<double>(sorted.size()));
  return mean(std::span(sorted).subspan(cut, sorted.size() - 2 * cut));
}

std::optional<double> variance(std::span<const double> values) {
  detail::require_finite(values);
  if (values.size() < 2) return std::nullopt;
  // Rounding in the mean must not give equal values a spread: the exact rule of the gate rests on it.
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (*low == *high) return 0.0;
  const auto n = static_cast<double>(values.size());
  const double centre = sum(values) / n;
  double squares = 0.0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return squares / (n - 1.0);
}

std::optional<double> standard_deviation(std::span<const double> values) {
  const auto spread = variance(values);
  if (!spread) return std::nullopt;
  return std::sqrt(*spread);
}

std::optional<double> quantile(std::span<const double> values, double q) {
  detail::require(q >= 0.0 && q <= 1.0, "the order of a quantile must be within [0, 1]");
  detail::require_finite(values);
  if (values.empty()) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

std::optional<double> median(std::span<const double> values) {
  detail::require_finite(values);
  if (values.empty()) return std::nullopt;
  std::vector<double> copy(values.begin(), values.end());
  return median_in_place(copy);
}

std::optional<double> median_absolute_deviation(std::span<const double> values) {
  detail::require_finite(values);
  if (values.empty()) return std::nullopt;
  std::vector<double> copy(values.begin(), values.end());
  const double centre = median_in_place(copy);
  for (double& value : copy) value = std::abs(value - centre);
  return median_in_place(copy);
}

std::optional<double> coefficient_of_variation(std::span<const double> values) {
  const auto spread = standard_deviation(values);
  const auto centre = mean(values);
  if (!spread || !centre || *centre == 0.0) return std::nullopt;
  return *spread / std::abs(*centre);
}

std::optional<double> geometric_mean(std::span<const double> values) {
  detail::require_finite(values);
  if (values.empty()) return std::nullopt;
  double logs = 0.0;
  for (const double value : values) {
    if (value <= 0.0) return std::nullopt;
    logs += std::log(value);
  }
  return std::exp(logs / static_cast<double>(values.size()));
}

std::optional<double> ratio_of_sums(std::span<const double> numerators, std::span<const double> denominators) {
  detail::require(numerators.size() == denominators.size(), "a ratio of sums needs as many numerators as denominators");
  detail::require_finite(numerators);
  detail::require_finite(denominators);
  const double lower = sum(denominators);
  if (lower == 0.0) return std::nullopt;
  return sum(numerators) / lower;
}

}  // namespace stepgauge::stats
