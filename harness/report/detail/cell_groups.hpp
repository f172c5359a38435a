#pragma once
// Cells that differ in one axis alone stand together, so that a table compares what can be compared.
#include <string>
#include <vector>

#include "contract/result_set.hpp"

namespace stepgauge::report::detail {

enum class Axis { mode, precision, checkpointing, topology, overlap, hook };

struct GroupedCell {
  const CellResults* results = nullptr;
  std::string name;  ///< the value of the axis: "compile.default.cold", "bf16", "every_2"
};

struct CellGroup {
  std::string title;  ///< what the cells share: their id without the axis and the hash
  std::vector<GroupedCell> cells;
};

/// Groups in order of their first cell. Mode: compile mode with options and cache, DDP wrapper and worker. Topology:
/// transport, interface, algorithm, protocol, channels, topology file and NCCL's variables.
std::vector<CellGroup> group_cells(const ResultSet& results, Axis axis);

/// The value of the axis, as the cell's id writes it.
std::string axis_value(const Cell& cell, Axis axis);

/// The cell of the run that is this one with the axis at its plain value (no checkpointing, no hook, DDP's own overlap,
/// the library's choices); nullptr: there is none.
const CellResults* plain_twin(const ResultSet& results, const Cell& cell, Axis axis);

/// plain_twin() for checkpointing.
const CellResults* twin_without_checkpointing(const ResultSet& results, const Cell& cell);

}  // namespace stepgauge::report::detail
