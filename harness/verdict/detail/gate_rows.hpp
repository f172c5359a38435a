#pragma once

#include <vector>

#include "verdict/detail/gate_rules.hpp"
#include "verdict/gate.hpp"

namespace stepgauge::verdict::detail {

/// Adds the rows of a cell to `out`, settles those without numbers on both sides, and hands back the others in `work`.
/// Counts the rows that were expected.
void add_gate_rows(const GateCell& cell, const GatePolicy& policy, Gate& out, std::vector<GateWork>& work);

/// The row of a metric with its tolerance and floor, those of head's cell where it has its own; nothing judged.
GateRow metric_row(const GateCell& cell, const MetricInfo& metric);

/// Only the metrics of a cell that is in both arms.
void add_metric_rows(const GateCell& cell, const GatePolicy& policy, Gate& out, std::vector<GateWork>& work);

}  // namespace stepgauge::verdict::detail
