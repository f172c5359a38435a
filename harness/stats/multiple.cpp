#include "stats/multiple.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "stats/detail/require.hpp"

namespace stepgauge::stats {
namespace {

// Indices of the p values, smallest first.
std::vector<std::size_t> ascending(std::span<const double> p_values) {
  detail::require_finite(p_values);
  for (const double p : p_values) detail::require(p >= 0.0 && p <= 1.0, "a p value must be within [0, 1]");
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  return order;
}

}  // namespace

std::vector<double> holm_adjusted(std::span<const double> p_values) {
  const auto order = ascending(p_values);
  std::vector<double> adjusted(p_values.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, static_cast<double>(order.size() - i) * p_values[order[i]]);
    adjusted[order[i]] = std::min(largest, 1.0);
  }
  return adjusted;
}

std::vector<double> benjamini_hochberg_adjusted(std::span<const double> p_values) {
  const auto order = ascending(p_values);
  std::vector<double> adjusted(p_values.size());
  double smallest = 1.0;
  for (std::size_t i = order.size(); i-- > 0;) {
    const double scaled = p_values[order[i]] * static_cast<double>(order.size()) / static_cast<double>(i + 1);
    smallest = std::min(smallest, scaled);
    adjusted[order[i]] = smallest;
  }
  return adjusted;
}

}  // namespace stepgauge::stats
