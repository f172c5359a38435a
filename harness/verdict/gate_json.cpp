#include "verdict/gate_json.hpp"

#include "verdict/detail/gate_looks.hpp"
#include "verdict/detail/row_json.hpp"

namespace stepgauge::verdict {
namespace {

using detail::json_of;

Json json_of(const ArmLaunches& launches) {
  return {{"ok", launches.ok}, {"failed", launches.failed}, {"outside", launches.outside}};
}

const char* text_of(Suspicion suspicion) {
  switch (suspicion) {
    case Suspicion::worse:
      return "worse";
    case Suspicion::better:
      return "better";
    default:
      return "none";
  }
}

Json row_json(const GateRow& row) {
  auto out = detail::row_json(row);
  out["stage"] = to_string(row.stage);
  out["suspicion"] = text_of(row.suspicion);
  out["pairs"] = row.pairs;
  out["looks"] = row.looks;
  out["base"] = json_of(row.base);
  out["head"] = json_of(row.head);
  out["spread"] = json_of(row.spread);
  out["p_sign_flip"] = json_of(row.p_sign_flip);
  out["hodges_lehmann"] = json_of(row.hodges_lehmann);
  out["gateable"] = row.gateable;
  return out;
}

Json policy_json(const GatePolicy& policy) {
  return {{"screen_pairs", policy.screen_pairs},
          {"confirm_pairs", policy.confirm_pairs},
          {"screen_alpha", policy.screen_alpha},
          {"screen_share", policy.screen_share},
          {"stop_share", policy.stop_share},
          {"stop_confidence", policy.stop_confidence},
          {"alpha", policy.alpha},
          {"null_share", policy.null_share},
          {"estimate_share", policy.estimate_share},
          {"pass_limit", policy.pass_limit},
          {"bound_confidence", policy.bound_confidence},
          {"interval_confidence", policy.interval_confidence},
          {"power", policy.power},
          {"unstable_share", policy.unstable_share},
          {"unstable_alpha", policy.unstable_alpha},
          {"failed_share", policy.failed_share},
          {"least_failures", policy.least_failures},
          {"failure_pairs", policy.failure_pairs},
          {"most_repeats", policy.most_repeats}};
}

Json design_json(const GatePolicy& policy) {
  Json looks = Json::array();
  for (const auto& look : detail::looks_of(policy))
    looks.push_back({{"pairs", look.pairs}, {"alpha_share", look.alpha_share}});
  return {{"name", design_name(policy)},
          {"warm_up", policy.warm_up},
          {"screen_signs", policy.screen_signs},
          {"looks", looks}};
}

Json counts_json(const Gate& gate) {
  auto out = to_json(gate.counts);
  out["not_gateable"] = gate.not_gateable;
  out["suspected"] = gate.suspected;
  return out;
}

Json skipped_json(const std::vector<SkippedCell>& skipped) {
  Json out = Json::array();
  for (const auto& cell : skipped)
    out.push_back({{"id", cell.id}, {"status", to_string(cell.status)}, {"reason", cell.reason}});
  return out;
}

}  // namespace

Json to_json(const Gate& gate, const GateContext& context) {
  Json rows = Json::array();
  for (const auto& row : gate.rows) rows.push_back(row_json(row));
  return {{"schema", "stepgauge.gate"},
          {"version", gate_version},
          {"suite", {{"name", context.suite}, {"path", context.suite_path}}},
          {"folder", context.folder},
          {"created_at", context.created_at},
          {"command", context.command},
          {"fingerprint", context.fingerprint},
          {"base", {{"arm", context.base}, {"launches", json_of(gate.base)}}},
          {"head", {{"arm", context.head}, {"launches", json_of(gate.head)}}},
          {"seed", context.policy.seed},
          {"policy", policy_json(context.policy)},
          {"design", design_json(context.policy)},
          {"attempts", context.attempts},
          {"budget_s", json_of(context.budget_s)},
          {"elapsed_s", context.elapsed_s},
          {"stopped", context.stopped},
          {"interrupted", context.interrupted},
          {"cells", {{"expected", gate.cells_expected}, {"measured", gate.cells_measured}}},
          {"spoilt_pairs", gate.spoilt_pairs},
          {"counts", counts_json(gate)},
          {"rows", rows},
          {"skipped", skipped_json(context.skipped)},
          {"software_differences", to_json(context.software)},
          {"notes", gate.notes},
          {"exit_code", static_cast<int>(gate.exit_code)}};
}

}  // namespace stepgauge::verdict
