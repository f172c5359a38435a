#pragma once
// Two arms as one set of settings in which they differ, and the arms between them.
#include <optional>
#include <string>
#include <vector>

#include "cli/gate_arm.hpp"
#include "verdict/bisect_search.hpp"

namespace stepgauge::cli {

/// One env or set entry that the ends do not share.
struct ArmDifference {
  std::string key;
  std::optional<std::string> good, bad;  ///< values as in a suite; nullopt: not set by that end

  std::string text() const;  ///< "env.OMP_NUM_THREADS=1 (good: not set)"
};

/// In the order of the bad end, then what only the good one sets. Throws ConfigError when the workers differ or nothing
/// does.
std::vector<ArmDifference> arm_differences(const Arm& good, const Arm& bad);

/// The good end with the settings of the subset as in the bad one.
Arm arm_between(const Arm& good, const std::vector<ArmDifference>& differences, const verdict::SettingSubset& subset);

}  // namespace stepgauge::cli
