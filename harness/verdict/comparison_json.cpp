#include "verdict/comparison.hpp"

#include "verdict/detail/row_json.hpp"

namespace stepgauge::verdict {
namespace {

using detail::json_of;

Json side_json(const Side& side) {
  return {{"launches", side.n}, {"mean", json_of(side.mean)}, {"cv", json_of(side.cv)}, {"statuses", side.statuses}};
}

Json row_json(const Row& row) {
  auto out = detail::row_json(row);
  out["blocking"] = row.blocking;
  out["base_sessions"] = row.base_sessions;
  out["base"] = side_json(row.base);
  out["head"] = side_json(row.head);
  return out;
}

Json unmatched_json(const std::vector<UnmatchedCell>& cells) {
  Json out = Json::array();
  for (const auto& cell : cells) out.push_back({{"id", cell.id}, {"reason", cell.reason}});
  return out;
}

}  // namespace

std::string_view detail::to_text(Better better) {
  switch (better) {
    case Better::lower:
      return "lower";
    case Better::higher:
      return "higher";
    default:
      return "neither";
  }
}

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::regressed:
      return "regressed";
    case Verdict::improved:
      return "improved";
    case Verdict::inconclusive:
      return "inconclusive";
    case Verdict::missing:
      return "missing";
    default:
      return "invalid";
  }
}

Json to_json(const Counts& counts) {
  return {{"expected", counts.expected},   {"compared", counts.compared}, {"passed", counts.passed},
          {"regressed", counts.regressed}, {"improved", counts.improved}, {"inconclusive", counts.inconclusive},
          {"invalid", counts.invalid},     {"missing", counts.missing}};
}

Json to_json(const std::vector<FieldDifference>& differences) {
  Json out = Json::array();
  for (const auto& item : differences) {
    out.push_back({{"field", item.field}, {"base", item.base}, {"head", item.head}, {"cells", item.cells}});
  }
  return out;
}

Json to_json(const Comparison& comparison) {
  Json rows = Json::array();
  for (const auto& row : comparison.rows) rows.push_back(row_json(row));
  Json summaries = Json::array();
  for (const auto& item : comparison.summaries) {
    summaries.push_back({{"metric", item.metric}, {"change", item.change}, {"cells", item.cells}});
  }
  return {{"schema", "stepgauge.comparison"},
          {"version", comparison_version},
          {"suite", comparison.suite},
          {"base",
           {{"name", comparison.base_name},
            {"created_at", comparison.base_created_at},
            {"sessions", comparison.base_sessions},
            {"expires_at", comparison.base_expires_at}}},
          {"head", {{"name", comparison.head_name}, {"created_at", comparison.head_created_at}}},
          {"comparable", comparison.comparable},
          {"refusal", comparison.refusal},
          {"machine_differences", to_json(comparison.machine)},
          {"software_differences", to_json(comparison.software)},
          {"cells",
           {{"expected", comparison.cells_expected},
            {"matched", comparison.cells_matched},
            {"excluded", comparison.cells_excluded}}},
          {"counts", to_json(comparison.counts)},
          {"advisory", to_json(comparison.advisory)},
          {"rows", rows},
          {"only_in_base", unmatched_json(comparison.only_in_base)},
          {"only_in_head", unmatched_json(comparison.only_in_head)},
          {"summaries", summaries},
          {"notes", comparison.notes},
          {"exit_code", static_cast<int>(comparison.exit_code)}};
}

}  // namespace stepgauge::verdict
