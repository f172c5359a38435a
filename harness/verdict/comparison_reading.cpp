#include <fmt/format.h>

#include "verdict/comparison.hpp"
#include "verdict/detail/row_reading.hpp"

namespace stepgauge::verdict {
namespace {

Side side_from(const Json& row, const char* key, std::string_view where) {
  const auto value = require<Json>(row, key, where);
  return {require<std::size_t>(value, "launches", where), detail::number_from(value, "mean", where),
          detail::number_from(value, "cv", where), require<std::string>(value, "statuses", where)};
}

Row row_from(const Json& value, std::string_view where) {
  auto row = detail::row_from<Row>(value, where);
  row.blocking = require<bool>(value, "blocking", where);
  row.base = side_from(value, "base", where);
  row.head = side_from(value, "head", where);
  return row;
}

std::vector<UnmatchedCell> unmatched_from(const Json& value, const char* key, std::string_view where) {
  std::vector<UnmatchedCell> out;
  for (const auto& item : require<std::vector<Json>>(value, key, where))
    out.push_back({require<std::string>(item, "id", where), require<std::string>(item, "reason", where)});
  return out;
}

void read_rows(const Json& value, std::string_view where, Comparison& out) {
  Counts blocking, advisory;
  for (const auto& item : require<std::vector<Json>>(value, "rows", where)) {
    out.rows.push_back(row_from(item, fmt::format("{}: row {}", where, out.rows.size() + 1)));
    const auto& row = out.rows.back();
    (row.blocking ? blocking : advisory).add(row.verdict, row.change.has_value());
  }
  out.counts = detail::counts_from(value, "counts", where);
  out.advisory = detail::counts_from(value, "advisory", where);
  out.exit_code = detail::exit_code_from(value, where);
  detail::require_counts(out.counts, blocking, out.exit_code, out.comparable, where);
}

}  // namespace

Comparison comparison_from_json(const Json& value, std::string_view where) {
  detail::require_schema(value, "stepgauge.comparison", comparison_version, where);
  Comparison out;
  out.suite = require<std::string>(value, "suite", where);
  const auto base = require<Json>(value, "base", where), head = require<Json>(value, "head", where);
  out.base_name = require<std::string>(base, "name", where);
  out.base_created_at = require<std::string>(base, "created_at", where);
  out.head_name = require<std::string>(head, "name", where);
  out.head_created_at = require<std::string>(head, "created_at", where);
  out.comparable = require<bool>(value, "comparable", where);
  out.refusal = require<std::string>(value, "refusal", where);
  out.machine = detail::differences_from(value, "machine_differences", where);
  out.software = detail::differences_from(value, "software_differences", where);
  const auto cells = require<Json>(value, "cells", where);
  out.cells_expected = require<std::size_t>(cells, "expected", where);
  out.cells_matched = require<std::size_t>(cells, "matched", where);
  out.cells_excluded = require<std::size_t>(cells, "excluded", where);
  read_rows(value, where, out);
  out.only_in_base = unmatched_from(value, "only_in_base", where);
  out.only_in_head = unmatched_from(value, "only_in_head", where);
  for (const auto& item : require<std::vector<Json>>(value, "summaries", where))
    out.summaries.push_back({require<std::string>(item, "metric", where), require<double>(item, "change", where),
                             require<std::size_t>(item, "cells", where)});
  out.notes = require<std::vector<std::string>>(value, "notes", where);
  return out;
}

}  // namespace stepgauge::verdict
