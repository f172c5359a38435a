#include <fmt/format.h>

#include <array>

#include "verdict/detail/row_reading.hpp"
#include "verdict/gate_json.hpp"

namespace stepgauge::verdict {
namespace {

using detail::number_from;

GateStage stage_from(const Json& value, std::string_view where) {
  const auto text = require<std::string>(value, "stage", where);
  for (const auto stage : {GateStage::screen, GateStage::confirm}) {
    if (text == to_string(stage)) return stage;
  }
  throw ContractError(fmt::format("{}: \"stage\" is \"{}\"; expected screen or confirm", where, text));
}

Suspicion suspicion_from(const Json& value, std::string_view where) {
  const auto text = require<std::string>(value, "suspicion", where);
  if (text == "worse") return Suspicion::worse;
  if (text == "better") return Suspicion::better;
  if (text == "none") return Suspicion::none;
  throw ContractError(fmt::format("{}: \"suspicion\" is \"{}\"; expected none, worse or better", where, text));
}

GateRow row_from(const Json& value, std::string_view where) {
  auto row = detail::row_from<GateRow>(value, where);
  row.stage = stage_from(value, where);
  row.suspicion = suspicion_from(value, where);
  row.pairs = require<std::size_t>(value, "pairs", where);
  row.base = number_from(value, "base", where);
  row.head = number_from(value, "head", where);
  row.spread = number_from(value, "spread", where);
  row.p_sign_flip = number_from(value, "p_sign_flip", where);
  row.hodges_lehmann = number_from(value, "hodges_lehmann", where);
  row.looks = optional<std::size_t>(value, "looks", 0, where);
  row.gateable = require<bool>(value, "gateable", where);
  return row;
}

/// Numbers that an older program did not write keep their default.
GatePolicy policy_from(const Json& value, std::string_view where) {
  GatePolicy out;
  const auto read = [&](const char* key, auto& number) { number = optional(value, key, number, where); };
  out.screen_pairs = require<std::size_t>(value, "screen_pairs", where);
  out.confirm_pairs = require<std::size_t>(value, "confirm_pairs", where);
  read("screen_alpha", out.screen_alpha);
  read("screen_share", out.screen_share);
  read("alpha", out.alpha);
  read("null_share", out.null_share);
  read("estimate_share", out.estimate_share);
  read("pass_limit", out.pass_limit);
  read("bound_confidence", out.bound_confidence);
  read("interval_confidence", out.interval_confidence);
  read("power", out.power);
  read("unstable_share", out.unstable_share);
  read("failed_share", out.failed_share);
  read("least_failures", out.least_failures);
  read("most_repeats", out.most_repeats);
  read("stop_share", out.stop_share);
  read("stop_confidence", out.stop_confidence);
  read("unstable_alpha", out.unstable_alpha);
  read("failure_pairs", out.failure_pairs);
  return out;
}

/// A gate that says nothing of its design is of the fixed one.
void read_design(const Json& value, GatePolicy& policy, std::string_view where) {
  const auto found = value.find("design");
  if (found == value.end()) return;
  policy.screen_signs = require<bool>(*found, "screen_signs", where);
  policy.warm_up = optional(*found, "warm_up", policy.warm_up, where);
  if (require<std::string>(*found, "name", where) == design_name({})) return;
  for (const auto& look : require<std::vector<Json>>(*found, "looks", where))
    policy.looks.push_back({require<std::size_t>(look, "pairs", where), require<double>(look, "alpha_share", where)});
}

ArmLaunches launches_from(const Json& arm, const std::string& where) {
  const auto value = require<Json>(arm, "launches", where);
  return {require<std::size_t>(value, "ok", where), require<std::size_t>(value, "failed", where),
          require<std::size_t>(value, "outside", where)};
}

std::vector<SkippedCell> skipped_from(const Json& value, std::string_view where) {
  std::vector<SkippedCell> out;
  for (const auto& item : require<std::vector<Json>>(value, "skipped", where)) {
    const auto status = status_from_string(require<std::string>(item, "status", where));
    if (!status) throw ContractError(fmt::format("{}: skipped: no such status", where));
    out.push_back({require<std::string>(item, "id", where), "", *status, require<std::string>(item, "reason", where)});
  }
  return out;
}

Gate read_gate(const Json& value, const std::string& where) {
  Gate out;
  Counts of_rows;
  for (const auto& item : require<std::vector<Json>>(value, "rows", where)) {
    const auto inside = fmt::format("{}: row {}", where, out.rows.size() + 1);
    out.rows.push_back(row_from(item, inside));
    of_rows.add(out.rows.back().verdict, out.rows.back().change.has_value());
  }
  out.counts = detail::counts_from(value, "counts", where);
  const auto& counts = value.at("counts");
  out.not_gateable = require<std::size_t>(counts, "not_gateable", where);
  out.suspected = require<std::size_t>(counts, "suspected", where);
  const auto cells = require<Json>(value, "cells", where);
  out.cells_expected = require<std::size_t>(cells, "expected", where);
  out.cells_measured = require<std::size_t>(cells, "measured", where);
  out.base = launches_from(require<Json>(value, "base", where), where);
  out.head = launches_from(require<Json>(value, "head", where), where);
  out.spoilt_pairs = require<std::size_t>(value, "spoilt_pairs", where);
  out.notes = require<std::vector<std::string>>(value, "notes", where);
  out.exit_code = detail::exit_code_from(value, where);
  detail::require_counts(out.counts, of_rows, out.exit_code, true, where);
  return out;
}

GateContext read_context(const Json& value, const std::string& where) {
  GateContext out;
  const auto suite = require<Json>(value, "suite", where);
  out.suite = require<std::string>(suite, "name", where);
  out.suite_path = require<std::string>(suite, "path", where);
  out.folder = require<std::string>(value, "folder", where);
  out.created_at = require<std::string>(value, "created_at", where);
  out.base = require<std::vector<std::string>>(require<Json>(value, "base", where), "arm", where);
  out.head = require<std::vector<std::string>>(require<Json>(value, "head", where), "arm", where);
  out.policy = policy_from(require<Json>(value, "policy", where), where);
  read_design(value, out.policy, where);
  out.policy.seed = require<std::uint64_t>(value, "seed", where);
  out.attempts = require<int>(value, "attempts", where);
  out.budget_s = number_from(value, "budget_s", where);
  out.elapsed_s = require<double>(value, "elapsed_s", where);
  out.stopped = require<std::string>(value, "stopped", where);
  out.interrupted = require<bool>(value, "interrupted", where);
  out.fingerprint = require<Json>(value, "fingerprint", where);
  out.command = require<std::vector<std::string>>(value, "command", where);
  out.skipped = skipped_from(value, where);
  out.software = detail::differences_from(value, "software_differences", where);
  return out;
}

}  // namespace

GateDocument gate_from_json(const Json& value, std::string_view where) {
  detail::require_schema(value, "stepgauge.gate", gate_version, where);
  const std::string name(where);
  return {read_gate(value, name), read_context(value, name)};
}

}  // namespace stepgauge::verdict
