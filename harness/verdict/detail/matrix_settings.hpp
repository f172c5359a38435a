#pragma once
// The settings of cells as a reader of a matrix would name them: what explanations over the matrix speak of.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "contract/cell.hpp"

namespace stepgauge::verdict::detail {

using Settings = std::map<std::string, std::string>;  ///< "ddp.ranks" -> "2"

/// Axes of a cell; device and backend go together, `perturb` is left out. "workload" is its name, "workload.SIZE" a
/// size.
Settings settings_of(const Cell& cell);

/// Names of the settings that are in one only, or have another value.
std::set<std::string> differing(const Settings& a, const Settings& b);

/// The settings of each cell. What says no more than another setting is left out: a size that every cell of a workload
/// shares; `cache` and `ddp.wrapper`, which only some modes have, where those all have the same.
std::vector<Settings> settings_over(const std::vector<const Cell*>& cells);

}  // namespace stepgauge::verdict::detail
