#pragma once
// A row with its verdict, of a comparison or of a gate: what an explanation starts from.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verdict/comparison.hpp"

namespace stepgauge::verdict {

/// Fractions on the ratio scale (0.02 = 2 %), the metric's own unit on the points scale.
struct JudgedRow {
  std::string cell;       ///< id in head
  std::string base_cell;  ///< id in base, often the same
  std::string metric, unit;
  Better better = Better::lower;
  Scale scale = Scale::ratio;
  bool blocking = true;
  std::optional<double> base, head;  ///< means
  std::optional<double> change, ci_lower, ci_upper, threshold;
  Verdict verdict = Verdict::invalid;
  std::string reason;
};

JudgedRow judged_row(const Row& row);

/// Of a gate's document (schema "gate"). Throws ContractError naming `where` for another document, a newer version, or
/// a field that is missing or of the wrong type.
std::vector<JudgedRow> judged_rows_of_gate(const Json& document, std::string_view where);

}  // namespace stepgauge::verdict
