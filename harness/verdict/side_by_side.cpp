#include "verdict/side_by_side.hpp"

#include <algorithm>

#include "verdict/detail/row_json.hpp"

namespace stepgauge::verdict {

bool is_worse(const Row& row) {
  if (!row.change || !row.threshold) return false;
  if (row.better == Better::lower) return *row.change >= *row.threshold;
  // head / base below 1 / (1 + threshold), as the rules have it on the ratio scale.
  return row.scale == Scale::ratio ? (1 + *row.change) * (1 + *row.threshold) <= 1 : -*row.change >= *row.threshold;
}

std::size_t count_worse(const Comparison& comparison) {
  return static_cast<std::size_t>(std::count_if(comparison.rows.begin(), comparison.rows.end(),
                                                [](const Row& row) { return row.blocking && is_worse(row); }));
}

Json side_by_side(const Comparison& comparison) {
  auto out = Json::array();
  for (const auto& row : comparison.rows) {
    if (!row.blocking || row.metric == launches_row) continue;
    out.push_back({{"cell", row.cell},
                   {"metric", row.metric},
                   {"unit", row.unit},
                   {"old", detail::json_of(row.base.mean)},
                   {"new", detail::json_of(row.head.mean)},
                   {"change", detail::json_of(row.change)},
                   {"worse", is_worse(row)}});
  }
  return out;
}

}  // namespace stepgauge::verdict
