#pragma once
// The matrix of a suite, read from its tree, and its expansion into cells.
#include <deque>
#include <string>
#include <vector>

#include "config/axes.hpp"
#include "config/cell_draft.hpp"
#include "config/pattern.hpp"
#include "config/policy.hpp"
#include "contract/result_set.hpp"

namespace stepgauge::config {

inline constexpr std::size_t max_cells = 1'000'000;

/// One direction of the product: an axis, or a zip of axes that advance together.
struct Dimension {
  std::vector<std::vector<const AxisValue*>> steps;  ///< per step one value of each of its axes
};

struct Include {
  CellDraft draft;
  Mark mark;
};

struct Override {
  Pattern match;
  std::vector<const AxisValue*> set;
  PolicyPatch policy;
};

/// An `image` or `sequence` that some cell should use.
struct ShapeValue {
  Axis axis;
  Mark mark;
};

struct Matrix {
  std::string suite;
  Mark mark;  ///< of the suite, for errors about the whole
  CellDraft defaults;
  std::vector<Dimension> dimensions;  ///< first varies slowest
  std::vector<Include> includes;
  std::vector<Pattern> excludes;
  std::vector<Override> overrides;
  PolicyPatch policy;
  std::vector<ShapeValue> shapes;
  std::deque<AxisValue> values;  ///< owns what the pointers above point at
};

struct Expansion {
  std::vector<Cell> cells;
  std::vector<std::size_t> places;  ///< of each cell in the matrix, excludes left out, before identical cells merged
  std::vector<SkippedCell> excluded;
  std::size_t merged = 0;  ///< cells that were identical to an earlier one
};

/// Reads defaults, axes, zip, include, exclude and overrides. Throws ConfigError.
Matrix read_matrix(const Node& root, const std::string& suite, const std::vector<std::string>& workers,
                   const PolicyPatch& policy);

/// Product, then includes; excludes drop, overrides change in file order, each seeing what those before it left;
/// identical cells are merged. Deterministic. Throws ConfigError.
Expansion expand(Matrix& matrix);

}  // namespace stepgauge::config
