#pragma once
// One cell on its way: which value each axis has, and the cell that follows from them.
#include <array>

#include "config/axes.hpp"
#include "contract/cell.hpp"

namespace stepgauge::config {

struct CellDraft {
  std::array<const AxisValue*, axis_count> values{};  ///< nullptr: the contract's default

  const AxisValue* at(Axis axis) const { return values[static_cast<std::size_t>(axis)]; }
  void set(const AxisValue* value) { values[static_cast<std::size_t>(value->axis)] = value; }
};

/// Writes every field of the cell's identity; leaves measure, limits and the like. Needs a workload. Does not fail on
/// values that do not fit together, so that an exclude may drop such a cell first.
void fill_cell(const CellDraft& draft, Cell& cell);

/// Throws ConfigError at the value that does not fit the rest of the cell.
void check_cell(const CellDraft& draft, const Cell& cell);

/// Whether the axis (image, sequence) is a size of the cell's workload.
bool uses_shape(const CellDraft& draft, Axis axis);

}  // namespace stepgauge::config
