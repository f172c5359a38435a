#pragma once
// One number of a launch from those of its ranks.
#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "contract/record.hpp"

namespace stepgauge::summary::detail {

using RankValue = std::function<std::optional<double>(const RankRecord&)>;

/// Largest over the ranks; absent when any rank lacks it.
inline std::optional<double> max_over(const std::vector<RankRecord>& ranks, const RankValue& value) {
  std::optional<double> largest;
  for (const auto& rank : ranks) {
    const auto one = value(rank);
    if (!one) return std::nullopt;
    largest = largest ? std::max(*largest, *one) : *one;
  }
  return largest;
}

}  // namespace stepgauge::summary::detail
