#pragma once
// Which of the launches of a gate count, and what they hold.
#include <cstddef>
#include <string>
#include <vector>

#include "verdict/gate.hpp"

namespace stepgauge::verdict::detail {

/// Every pair of the screen is settled.
bool screened(const GateCell& cell, const GatePolicy& policy);

/// The first `count` pairs of the stage are settled.
bool settled_up_to(const GateCell& cell, GateStage stage, std::size_t count, const GatePolicy& policy);

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

/// The screen's failures of head are to be confirmed: some of its launches fail, not all.
bool failures_to_confirm(const GateCell& cell, const GatePolicy& policy);
/// They are judged: all pairs for that are made, or head has failed often enough whatever the others would show.
bool failures_decided(const GateCell& cell, const GatePolicy& policy);

/// Values of one metric over the usable pairs of a stage.
struct PairedValues {
  std::vector<double> base, head;  ///< of pairs that have both
  bool any_base = false, any_head = false;
  std::string unit, other_unit;  ///< other_unit: a launch had this one; empty when all agree
  std::string absent_base, absent_head;
};
/// Of the first `most` pairs of the stage.
PairedValues paired_values(const GateCell& cell, GateStage stage, const std::string& metric, const GatePolicy& policy,
                           std::size_t most = static_cast<std::size_t>(-1));

}  // namespace stepgauge::verdict::detail
