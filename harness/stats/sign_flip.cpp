#include "stats/sign_flip.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "stats/detail/require.hpp"

namespace stepgauge::stats {
namespace {

constexpr std::size_t exact_up_to = 14;
constexpr std::uint64_t draws = 20000;
constexpr double rounding = 1e-12;  // relative: sums this near to each other are a tie

// Sum of the values whose bit is set: half of what the whole sum loses when they change their sign.
double flipped_sum(std::span<const double> values, std::uint64_t bits) {
  double sum = 0.0;
  for (const double value : values) {
    if (bits & 1u) sum += value;
    bits >>= 1;
  }
  return sum;
}

}  // namespace

double sign_flip_p_above(std::span<const double> differences, double margin, std::uint64_t seed) {
  detail::require(std::isfinite(margin), "the margin must be finite");
  detail::require_finite(differences);
  std::vector<double> shifted(differences.begin(), differences.end());
  double tie = 0.0;
  for (double& value : shifted) {
    value -= margin;
    tie += rounding * std::abs(value);
  }
  // A pattern is as extreme as the one seen when the values that it flips do not sum to more than 0.
  std::uint64_t hits = 0;
  if (shifted.size() <= exact_up_to) {
    const std::uint64_t patterns = std::uint64_t{1} << shifted.size();
    for (std::uint64_t bits = 0; bits < patterns; ++bits) hits += flipped_sum(shifted, bits) <= tie;
    return static_cast<double>(hits) / static_cast<double>(patterns);
  }
  // Sorted, so that the same differences in another order meet the same patterns.
  std::sort(shifted.begin(), shifted.end());
  std::mt19937_64 engine(seed);
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    double sum = 0.0;
    for (std::size_t first = 0; first < shifted.size(); first += 64) {
      const std::size_t count = std::min<std::size_t>(64, shifted.size() - first);
      sum += flipped_sum(std::span(shifted).subspan(first, count), engine());
    }
    hits += sum <= tie;
  }
  return static_cast<double>(hits + 1) / static_cast<double>(draws + 1);
}

}  // namespace stepgauge::stats
