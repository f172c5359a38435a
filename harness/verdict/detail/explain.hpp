#pragma once

#include <string>
#include <vector>

#include "verdict/compare.hpp"
#include "verdict/detail/matching.hpp"

namespace stepgauge::verdict::detail {

/// Geometric mean of head / base per ratio metric over the rows with numbers, and how many they are.
std::vector<Summary> summarise(const std::vector<Row>& rows);

/// Short lines on the pattern of regressions over the matrix, per worker, workload and blocking metric: about the same
/// in every cell; in one cell alone while its neighbours (one setting differs) are healthy; exactly where the smallest
/// setting that separates them (separation.hpp) holds.
std::vector<std::string> explain(const std::vector<Row>& rows, const std::vector<Pair>& pairs);

/// Metrics in the records that the catalogue does not know, and values absent on both sides.
std::vector<std::string> unjudged_notes(const std::vector<Pair>& pairs, const std::vector<const MetricInfo*>& metrics);

}  // namespace stepgauge::verdict::detail
