#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "contract/result_set.hpp"

namespace stepgauge::verdict::detail {

struct Pair {
  const CellResults* base = nullptr;
  const CellResults* head = nullptr;
};

struct Matching {
  std::vector<Pair> pairs;  ///< in the order of head
  std::vector<const CellResults*> only_in_base, only_in_head;
  std::size_t excluded = 0;  ///< cells of base that the selection leaves out
};

/// Pairs cells by identity. With match_perturbed a perturbed cell of head without its like is paired with the cell of
/// base that it would be without `perturb`.
Matching match_cells(const ResultSet& base, const ResultSet& head, bool match_perturbed,
                     const std::function<bool(const Cell&)>& selected);

}  // namespace stepgauge::verdict::detail
