#pragma once
// Old and new of a baseline that is about to be replaced or to grow.
#include <cstddef>
#include <vector>

#include "verdict/comparison.hpp"

namespace stepgauge::verdict {

/// The estimate is worse by at least what counts as a change, whatever its certainty.
bool is_worse(const Row& row);

/// Blocking rows that are.
std::size_t count_worse(const Comparison& comparison);

/// Header field "replaced".rows of a baseline: every blocking row.
Json side_by_side(const Comparison& comparison);

}  // namespace stepgauge::verdict
