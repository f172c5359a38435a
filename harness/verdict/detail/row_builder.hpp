#pragma once

#include <vector>

#include "stats/welch.hpp"
#include "verdict/compare.hpp"
#include "verdict/detail/matching.hpp"
#include "verdict/detail/outcome.hpp"

namespace stepgauge::verdict::detail {

/// A row with numbers on both sides that waits for its verdict.
struct Measured {
  std::size_t row;         ///< index into Comparison::rows
  stats::TwoSample worse;  ///< head against base, positive is worse, on the scale of the row
  double theta;            ///< on the same scale
};

/// Catalogue metrics that have a direction and that the policy asks for.
std::vector<const MetricInfo*> judged_metrics(const Policy& policy);

/// Adds the rows of a matched cell, settles those that cannot be judged, and hands back the others in `measured`.
/// `stored`: base is a baseline, whose sessions count.
void add_rows(const Pair& pair, const std::vector<const MetricInfo*>& metrics, bool stored, Comparison& out,
              std::vector<Measured>& measured);

/// Adds a missing row for each blocking metric that base has.
void add_missing_cell(const CellResults& base, const std::string& reason, const std::vector<const MetricInfo*>& metrics,
                      Comparison& out);

}  // namespace stepgauge::verdict::detail
