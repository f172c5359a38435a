#pragma once
// The smallest setting of a matrix that separates its bad cells from its good ones.
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "contract/json_io.hpp"

namespace stepgauge::verdict {

enum class Health { bad, good, unjudged };

struct SeparationCell {
  std::map<std::string, std::string> settings;  ///< axis -> value
  Health health = Health::unjudged;
};

/// One condition on one axis.
struct SeparatingTerm {
  std::string axis, value;
  bool equal = true;              ///< axis = value; false: axis is anything but value
  std::vector<std::string> also;  ///< other conditions that hold for exactly the same judged cells

  std::string text() const;  ///< "precision=fp16", "compile other than eager"
};

using Conjunction = std::vector<SeparatingTerm>;
std::string text_of(const Conjunction& terms);  ///< joined by " and "

enum class SeparationKind {
  uniform,    ///< every judged cell is bad: no setting of the matrix is the cause
  separated,  ///< by each of `conjunctions`
  none,       ///< no conjunction of up to most_separating_terms conditions does
  alone,      ///< fewer than two cells were judged: nothing to separate from
  healthy,    ///< no cell is bad
};
std::string_view to_string(SeparationKind kind);

inline constexpr std::size_t most_separating_terms = 3;

struct Separation {
  SeparationKind kind = SeparationKind::none;
  std::size_t bad = 0, good = 0, unjudged = 0;
  /// The smallest there are, all of them: each holds for every bad cell and for no good one. Those of "axis = value"
  /// alone where there are any; else those that need "anything but".
  std::vector<Conjunction> conjunctions;
};

/// Cells that were not judged count for neither side.
Separation separate(const std::vector<SeparationCell>& cells);

Json to_json(const Separation& separation);

}  // namespace stepgauge::verdict
