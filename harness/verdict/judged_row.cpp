#include "verdict/judged_row.hpp"

#include <fmt/format.h>

#include <array>

#include "verdict/gate.hpp"

namespace stepgauge::verdict {
namespace {

Verdict verdict_of(const std::string& text, const std::string& where) {
  for (const auto verdict : {Verdict::pass, Verdict::regressed, Verdict::improved, Verdict::inconclusive,
                             Verdict::invalid, Verdict::missing}) {
    if (to_string(verdict) == text) return verdict;
  }
  throw ContractError(fmt::format("{}: unknown verdict \"{}\"", where, text));
}

std::optional<double> number(const Json& value, const char* key, const std::string& where) {
  if (!value.contains(key)) throw ContractError(fmt::format("{}: \"{}\" is missing", where, key));
  return value.at(key).is_null() ? std::nullopt : std::optional(require<double>(value, key, where));
}

JudgedRow row_of(const Json& value, const std::string& where) {
  JudgedRow out;
  out.cell = require<std::string>(value, "cell", where);
  out.base_cell = require<std::string>(value, "base_cell", where);
  out.metric = require<std::string>(value, "metric", where);
  out.unit = require<std::string>(value, "unit", where);
  out.better = require<std::string>(value, "better", where) == "higher" ? Better::higher : Better::lower;
  out.scale = require<std::string>(value, "scale", where) == "points" ? Scale::points : Scale::ratio;
  out.base = number(value, "base", where);
  out.head = number(value, "head", where);
  out.change = number(value, "change", where);
  out.ci_lower = number(value, "ci_lower", where);
  out.ci_upper = number(value, "ci_upper", where);
  out.threshold = number(value, "threshold", where);
  out.verdict = verdict_of(require<std::string>(value, "verdict", where), where);
  out.reason = require<std::string>(value, "reason", where);
  return out;
}

}  // namespace

JudgedRow judged_row(const Row& row) {
  return {row.cell,      row.base_cell.empty() ? row.cell : row.base_cell,
          row.metric,    row.unit,
          row.better,    row.scale,
          row.blocking,  row.base.mean,
          row.head.mean, row.change,
          row.ci_lower,  row.ci_upper,
          row.threshold, row.verdict,
          row.reason};
}

std::vector<JudgedRow> judged_rows_of_gate(const Json& document, std::string_view where) {
  const std::string origin(where);
  if (require<std::string>(document, "schema", origin) != "stepgauge.gate")
    throw ContractError(origin + ": not the verdict of a gate");
  if (const auto version = require<int>(document, "version", origin); version > gate_version)
    throw ContractError(fmt::format("{}: gate version {}, this program reads up to {}", origin, version, gate_version));
  std::vector<JudgedRow> out;
  const auto rows = require<Json>(document, "rows", origin);
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.push_back(row_of(rows.at(i), fmt::format("{}: rows[{}]", origin, i)));
  return out;
}

}  // namespace stepgauge::verdict
