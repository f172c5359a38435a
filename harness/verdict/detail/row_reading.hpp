#pragma once
// What the rows of a comparison and of a gate have in common, read back from both documents.
#include <optional>
#include <string>
#include <string_view>

#include "contract/json_io.hpp"
#include "verdict/comparison.hpp"

namespace stepgauge::verdict::detail {

std::optional<double> number_from(const Json& value, const char* key, std::string_view where);
Verdict verdict_from(const Json& value, std::string_view where);
Better better_from(const Json& value, std::string_view where);
Scale scale_from(const Json& value, std::string_view where);
ExitCode exit_code_from(const Json& value, std::string_view where);
Counts counts_from(const Json& value, const char* key, std::string_view where);
std::vector<FieldDifference> differences_from(const Json& value, const char* key, std::string_view where);

/// "schema" and "version" of a document: ContractError for another schema, or one that a newer program wrote.
void require_schema(const Json& value, const char* schema, int version, std::string_view where);

/// A document says its counts and its exit code beside its rows: ContractError where they do not go together, so that
/// rows taken out by hand, or by a disk that was full, are no pass.
void require_counts(const Counts& found, Counts of_rows, ExitCode code, bool comparable, std::string_view where);

/// The mirror image of row_json().
template <typename AnyRow>
AnyRow row_from(const Json& value, std::string_view where) {
  AnyRow row;
  row.cell = require<std::string>(value, "cell", where);
  row.base_cell = require<std::string>(value, "base_cell", where);
  if (row.base_cell == row.cell) row.base_cell.clear();
  row.metric = require<std::string>(value, "metric", where);
  row.unit = require<std::string>(value, "unit", where);
  row.better = better_from(value, where);
  row.scale = scale_from(value, where);
  row.perturbed = require<bool>(value, "perturbed", where);
  row.change = number_from(value, "change", where);
  row.ci_lower = number_from(value, "ci_lower", where);
  row.ci_upper = number_from(value, "ci_upper", where);
  row.tolerance = require<double>(value, "tolerance", where);
  row.floor = require<double>(value, "floor", where);
  row.threshold = number_from(value, "threshold", where);
  row.mde = number_from(value, "mde", where);
  row.worse_bound = number_from(value, "worse_bound", where);
  row.p = number_from(value, "p", where);
  row.p_adjusted = number_from(value, "p_adjusted", where);
  row.exact = require<bool>(value, "exact", where);
  row.verdict = verdict_from(value, where);
  row.reason = require<std::string>(value, "reason", where);
  return row;
}

}  // namespace stepgauge::verdict::detail
