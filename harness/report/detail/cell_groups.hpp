#pragma once
// Cells that differ in one axis alone stand together, so that a table compares what can be compared.
#include <string>
#include <vector>

#include "contract/result_set.hpp"

namespace stepgauge::report::detail {

enum class Axis { mode, precision, checkpointing };

struct GroupedCell {
  const CellResults* results = nullptr;
  std::string name;  ///< the value of the axis: "compile.default.cold", "bf16", "every_2"
};

struct CellGroup {
  std::string title;  ///< what the cells share: their id without the axis and the hash
  std::vector<GroupedCell> cells;
};

/// Groups in order of their first cell. Mode: compile mode with options and cache, DDP wrapper and worker.
std::vector<CellGroup> group_cells(const ResultSet& results, Axis axis);

/// The value of the axis, as the cell's id writes it.
std::string axis_value(const Cell& cell, Axis axis);

/// The cell of the run that differs from this one in having no checkpointing; nullptr: there is none.
const CellResults* twin_without_checkpointing(const ResultSet& results, const Cell& cell);

}  // namespace stepgauge::report::detail
