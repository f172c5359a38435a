#include "verdict/calibration_json.hpp"

#include "verdict/detail/row_json.hpp"

namespace stepgauge::verdict {
namespace {

using detail::json_of;

Json json_of(const std::optional<GatePairs>& pairs) {
  return pairs ? Json{{"screen", pairs->screen}, {"confirm", pairs->confirm}} : Json(nullptr);
}

Json json_of(const CalibrationRow& row) {
  return {{"cell", row.cell},
          {"metric", row.metric},
          {"unit", row.unit},
          {"better", detail::to_text(row.better)},
          {"scale", row.scale == Scale::ratio ? "ratio" : "points"},
          {"blocking", row.blocking},
          {"launches", row.launches},
          {"sessions", row.sessions},
          {"level", json_of(row.level)},
          {"between", json_of(row.between)},
          {"sigma_session", json_of(row.sigma_session)},
          {"sigma_launch", json_of(row.sigma_launch)},
          {"sigma_step", json_of(row.sigma_step)},
          {"inflation", json_of(row.inflation)},
          {"steps", json_of(row.steps)},
          {"steps_needed", row.steps_needed ? Json(*row.steps_needed) : Json(nullptr)},
          {"spread", json_of(row.spread)},
          {"spread_df", json_of(row.spread_df)},
          {"successive_ratio", json_of(row.successive_ratio)},
          {"drift_z", json_of(row.drift_z)},
          {"lag1", json_of(row.lag1)},
          {"tolerance", row.tolerance},
          {"floor", row.floor},
          {"threshold", json_of(row.threshold)},
          {"mde", json_of(row.mde)},
          {"least_tolerance", json_of(row.least_tolerance)},
          {"power", json_of(row.power)},
          {"false_suspicion", json_of(row.false_suspicion)},
          {"needed", json_of(row.needed)},
          {"exact", row.exact},
          {"measured", row.measured},
          {"gateable", row.gateable},
          {"reason", row.reason}};
}

Json json_of(const CalibrationCellResult& cell) {
  return {{"id", cell.id},
          {"launches", cell.launches},
          {"statuses", cell.statuses},
          {"launch_s", json_of(cell.launch_s)},
          {"sessions", cell.sessions},
          {"false_suspicion", cell.false_suspicion},
          {"measured", cell.measured},
          {"reason", cell.reason}};
}

Json json_of(const SkippedCell& cell) {
  return {{"id", cell.id}, {"hash", cell.hash}, {"status", to_string(cell.status)}, {"reason", cell.reason}};
}

template <typename T>
Json list_of(const std::vector<T>& items) {
  auto out = Json::array();
  for (const auto& item : items) out.push_back(json_of(item));
  return out;
}

}  // namespace

Json to_json(const Calibration& calibration, const CalibrationContext& context) {
  const auto& wish = context.wish;
  const auto& totals = calibration.totals;
  return {
      {"schema", "stepgauge.plan"},
      {"version", calibration_version},
      {"suite", {{"name", context.suite}, {"path", context.suite_path}}},
      {"file", context.file},
      {"folder", context.folder},
      {"stopped", context.stopped},
      {"fingerprint", context.fingerprint},
      {"gate",
       {{"screen_pairs", wish.gate.screen_pairs},
        {"confirm_pairs", wish.gate.confirm_pairs},
        {"power", wish.power},
        {"family", wish.family},
        {"most_pairs", wish.most_pairs}}},
      {"sessions", calibration.sessions},
      {"days", calibration.days},
      {"commits", calibration.commits},
      {"first_measured_at", calibration.first_measured_at},
      {"last_measured_at", calibration.last_measured_at},
      {"counts",
       {{"gateable", calibration.gateable},
        {"not_gateable", calibration.not_gateable},
        {"not_measured", calibration.not_measured}}},
      {"suggested", json_of(calibration.suggested)},
      {"seconds", {{"screen", totals.screen_s}, {"confirm_all", totals.confirm_s}, {"expected", totals.expected_s}}},
      {"cells", list_of(calibration.cells)},
      {"rows", list_of(calibration.rows)},
      {"skipped", list_of(context.skipped)},
      {"notes", calibration.notes},
      {"exit_code", static_cast<int>(context.exit_code)}};
}

}  // namespace stepgauge::verdict
