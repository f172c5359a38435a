#pragma once

#include <vector>

#include "verdict/detail/gate_rules.hpp"
#include "verdict/gate.hpp"

namespace stepgauge::verdict::detail {

/// Adds the rows of a cell to `out`, settles those without numbers on both sides, and hands back the others in `work`.
/// Counts the rows that were expected.
void add_gate_rows(const GateCell& cell, const GatePolicy& policy, Gate& out, std::vector<GateWork>& work);

/// Only the metrics of a cell that is in both arms.
void add_metric_rows(const GateCell& cell, const GatePolicy& policy, Gate& out, std::vector<GateWork>& work);

}  // namespace stepgauge::verdict::detail
