#pragma once
// What the rows of a comparison and of a gate have in common, as both documents write it.
#include "contract/optional_json.hpp"
#include "verdict/comparison.hpp"

namespace stepgauge::verdict::detail {

using stepgauge::json_of;

std::string_view to_text(Better better);

/// `Row` or `GateRow`: everything but `base` and `head`, and what only one of them has.
template <typename AnyRow>
Json row_json(const AnyRow& row) {
  return {{"cell", row.cell},
          {"base_cell", row.base_cell.empty() ? row.cell : row.base_cell},
          {"metric", row.metric},
          {"unit", row.unit},
          {"better", to_text(row.better)},
          {"scale", row.scale == Scale::ratio ? "ratio" : "points"},
          {"perturbed", row.perturbed},
          {"change", json_of(row.change)},
          {"ci_lower", json_of(row.ci_lower)},
          {"ci_upper", json_of(row.ci_upper)},
          {"tolerance", row.tolerance},
          {"floor", row.floor},
          {"threshold", json_of(row.threshold)},
          {"mde", json_of(row.mde)},
          {"worse_bound", json_of(row.worse_bound)},
          {"p", json_of(row.p)},
          {"p_adjusted", json_of(row.p_adjusted)},
          {"exact", row.exact},
          {"verdict", to_string(row.verdict)},
          {"reason", row.reason}};
}

}  // namespace stepgauge::verdict::detail
