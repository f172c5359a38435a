#include "stats/hodges_lehmann.hpp"

#include <cstddef>
#include <numeric>
#include <vector>

#include "stats/detail/require.hpp"
#include "stats/summary.hpp"

namespace stepgauge::stats {

double hodges_lehmann(std::span<const double> differences) {
  detail::require(!differences.empty(), "an empty sample has no centre");
  detail::require_finite(differences);
  std::vector<double> walsh_averages;
  walsh_averages.reserve(differences.size() * (differences.size() + 1) / 2);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    for (std::size_t j = i; j < differences.size(); ++j) {
      walsh_averages.push_back(std::midpoint(differences[i], differences[j]));
    }
  }
  return *median(walsh_averages);
}

}  // namespace stepgauge::stats
