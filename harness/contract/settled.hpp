#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "contract/median.hpp"

namespace stepgauge {

// The worker's end of warm-up. warmup_ms: times of all warm-up steps so far, without the first step of the
// launch. True when both hold for the last three blocks of `block` steps:
// - No step is a stray slow one (compilation, capture, autotuning): above their median by more than half of
// it
//   and by more than 4 robust standard deviations (1.4826 * MAD).
// - The three block medians agree: their range is within `tolerance` of the smallest, or within two standard
//   errors of a block median, 1.2533 * 1.4826 * MAD / sqrt(block), MAD being that of the steps about their
//   own block medians.
// False for fewer than three blocks. Throws std::invalid_argument on a block of 0, or a time or tolerance
// that is negative or not finite.
inline bool settled(std::span<const double> warmup_ms, std::size_t block, double tolerance = 0.02) {
  const auto negative = [](double value) { return !std::isfinite(value) || value < 0.0; };
  if (block == 0 || negative(tolerance) || std::any_of(warmup_ms.begin(), warmup_ms.end(), negative)) {
    throw std::invalid_argument("stepgauge::settled: block, times and tolerance must be finite and not negative");
  }
  constexpr std::size_t blocks = 3;
  if (warmup_ms.size() / blocks < block) return false;
  constexpr double mad_to_sd = 1.4826;
  constexpr double mean_to_median_error = 1.2533;

  const auto recent = warmup_ms.last(blocks * block);
  const double centre = median({recent.begin(), recent.end()});
  std::vector<double> medians;
  std::vector<double> about_all;
  std::vector<double> about_block;
  for (std::size_t i = 0; i < recent.size(); ++i) {
    if (i % block == 0) {
      const auto one = recent.subspan(i, block);
      medians.push_back(median({one.begin(), one.end()}));
    }
    about_all.push_back(std::abs(recent[i] - centre));
    about_block.push_back(std::abs(recent[i] - medians.back()));
  }
  const double stray = std::max(0.5 * centre, 4.0 * mad_to_sd * median(std::move(about_all)));
  if (*std::max_element(recent.begin(), recent.end()) > centre + stray) return false;

  const auto [low, high] = std::minmax_element(medians.begin(), medians.end());
  const double standard_error =
      mean_to_median_error * mad_to_sd * median(std::move(about_block)) / std::sqrt(static_cast<double>(block));
  return *high - *low <= std::max(tolerance * *low, 2.0 * standard_error);
}

}  // namespace stepgauge
