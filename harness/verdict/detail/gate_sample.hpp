#pragma once
// The pairs of one stage of one row as a sample: what the rules look at.
#include <optional>
#include <string>
#include <vector>

#include "stats/paired.hpp"
#include "verdict/detail/gate_tries.hpp"

namespace stepgauge::verdict::detail {

struct GateSample {
  std::vector<double> worse;  ///< head against base of each pair, positive is worse: ln, or points
  stats::Paired paired{};
  double base = 0, head = 0;  ///< means; geometric on the ratio scale
  double threshold = 0;       ///< as a change
  double theta = 0;           ///< the same on the scale of `worse`
  bool exact = false;         ///< no spread in either arm
  bool uneven = false;        ///< no spread in one arm only
};

/// nullopt with fewer than two pairs. The values are usable().
std::optional<GateSample> sample_of(const PairedValues& values, const GateRow& row);

/// Why the values cannot be compared: one that is not usable(), or units that differ; empty when they can.
std::string bad_values(const PairedValues& values, Scale scale);

/// Finite, and above 0 on the ratio scale.
bool usable(double value, Scale scale);

/// A difference on the scale of the analysis as a change of head against base (`worse` undone), and of its size for the
/// worse; nullopt beyond the range of numbers.
std::optional<double> change_of(const GateRow& row, double worse);
std::optional<double> size_of(const GateRow& row, double worse);

}  // namespace stepgauge::verdict::detail
