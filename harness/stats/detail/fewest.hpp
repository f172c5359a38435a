#pragma once

#include <cstddef>
#include <optional>

namespace stepgauge::stats::detail {

// Smallest n in [2, cap] with enough(n), where enough never turns false again for a larger n. nullopt when
// enough(cap) is false or cap is below 2.
template <typename Predicate>
std::optional<std::size_t> fewest(std::size_t cap, const Predicate& enough) {
  if (cap < 2 || !enough(cap)) return std::nullopt;
  std::size_t too_few = 1;
  std::size_t found = cap;
  while (found - too_few > 1) {
    const std::size_t middle = too_few + (found - too_few) / 2;
    (enough(middle) ? found : too_few) = middle;
  }
  return found;
}

}  // namespace stepgauge::stats::detail
