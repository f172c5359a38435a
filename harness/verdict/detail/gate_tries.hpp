#pragma once
// Which of the launches of a gate count, and what they hold.
#include <cstddef>
#include <string>
#include <vector>

#include "verdict/gate.hpp"

namespace stepgauge::verdict::detail {

/// Every pair of the stage is settled.
bool complete(const GateCell& cell, GateStage stage, const GatePolicy& policy);

/// Pairs of the stage that are settled, both launches ok or not.
std::size_t settled_pairs(const GateCell& cell, GateStage stage, const GatePolicy& policy);

/// Why the cell was given up: the pair that was spoilt in every try; empty when none was.
std::string gave_up_reason(const GateCell& cell, const GatePolicy& policy);

/// Launches of the stage that say something: of tries that were dropped as well, for a crash is a crash.
struct Failures {
  std::size_t head_launches = 0, head_failed = 0, base_launches = 0, base_failed = 0;
  std::string head_first, base_first;  ///< how the first of them failed
};
Failures failures(const GateCell& cell, GateStage stage);

/// Head fails in a third of its launches or more, and base never.
bool head_fails(const Failures& count, const GatePolicy& policy);

/// Values of one metric over the usable pairs of a stage.
struct PairedValues {
  std::vector<double> base, head;  ///< of pairs that have both
  bool any_base = false, any_head = false;
  std::string unit, other_unit;  ///< other_unit: a launch had this one; empty when all agree
  std::string absent_base, absent_head;
};
PairedValues paired_values(const GateCell& cell, GateStage stage, const std::string& metric, const GatePolicy& policy);

}  // namespace stepgauge::verdict::detail
