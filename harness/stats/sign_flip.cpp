#include "stats/sign_flip.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "stats/detail/require.hpp"

namespace stepgauge::stats {
namespace {

constexpr std::size_t exact_up_to = 24;
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

// The sums of all subsets, in order.
std::vector<double> subset_sums(std::span<const double> values) {
  std::vector<double> sums{0.0};
  for (const double value : values) {
    const std::size_t before = sums.size();
    for (std::size_t i = 0; i < before; ++i) sums.push_back(sums[i] + value);
  }
  std::sort(sums.begin(), sums.end());
  return sums;
}

// How many subsets of `values` sum to at most `limit`: by the sums of two halves (Horowitz and Sahni 1974), 2^(n/2) of
// them instead of 2^n.
std::uint64_t subsets_up_to(std::span<const double> values, double limit) {
  const auto small = subset_sums(values.first(values.size() / 2));
  const auto large = subset_sums(values.subspan(values.size() / 2));
  std::uint64_t count = 0;
  std::size_t fitting = large.size();
  for (const double sum : small) {
    while (fitting > 0 && sum + large[fitting - 1] > limit) --fitting;
    count += fitting;
  }
  return count;
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
  // Sorted, so that the same differences in another order meet the same sums.
  std::sort(shifted.begin(), shifted.end());
  if (shifted.size() <= exact_up_to)
    return std::ldexp(static_cast<double>(subsets_up_to(shifted, tie)), -static_cast<int>(shifted.size()));
  std::uint64_t hits = 0;
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
