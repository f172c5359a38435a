#include "verdict/detail/row_json.hpp"
#include "verdict/why.hpp"

namespace stepgauge::verdict {
namespace {

using detail::json_of;

Json line_json(const WhyLine& line) {
  const bool number = !line.unit.empty();
  return {{"name", line.name},
          {"unit", line.unit},
          {"base", number ? json_of(line.base) : Json(line.base_text)},
          {"head", number ? json_of(line.head) : Json(line.head_text)},
          {"share", json_of(line.share)},
          {"how", line.how},
          {"note", line.note}};
}

Json lines_json(const std::vector<WhyLine>& lines) {
  Json out = Json::array();
  for (const auto& line : lines) out.push_back(line_json(line));
  return out;
}

Json row_json(const WhyRow& why) {
  const auto& row = why.row;
  Json parts = Json::array();
  for (const auto& part : why.parts) {
    parts.push_back({{"kind", to_string(part.kind)},
                     {"lines", lines_json(part.lines)},
                     {"notes", part.notes},
                     {"absent", part.absent}});
  }
  return {{"cell", row.cell},
          {"base_cell", row.base_cell},
          {"metric", row.metric},
          {"unit", row.unit},
          {"scale", row.scale == Scale::ratio ? "ratio" : "points"},
          {"base", json_of(row.base)},
          {"head", json_of(row.head)},
          {"change", json_of(row.change)},
          {"ci_lower", json_of(row.ci_lower)},
          {"ci_upper", json_of(row.ci_upper)},
          {"verdict", to_string(row.verdict)},
          {"reason", row.reason},
          {"parts", std::move(parts)}};
}

}  // namespace

Json to_json(const Why& why) {
  Json rows = Json::array(), patterns = Json::array();
  for (const auto& row : why.rows) rows.push_back(row_json(row));
  for (const auto& pattern : why.patterns) {
    patterns.push_back({{"metric", pattern.metric},
                        {"separation", to_json(pattern.separation)},
                        {"bad_cells", pattern.bad_cells},
                        {"alike", pattern.alike},
                        {"text", pattern.text()}});
  }
  return {{"schema", "stepgauge.why"},
          {"version", why_version},
          {"suite", why.suite},
          {"base", why.base_name},
          {"head", why.head_name},
          {"refusal", why.refusal},
          {"counts", {{"compared", why.compared}, {"worse", why.worse}, {"inconclusive", why.undecided}}},
          {"everywhere", lines_json(why.everywhere)},
          {"rows", std::move(rows)},
          {"patterns", std::move(patterns)},
          {"notes", why.notes},
          {"exit_code", static_cast<int>(why.exit_code)}};
}

}  // namespace stepgauge::verdict
