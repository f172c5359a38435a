#include "verdict/compare.hpp"

#include <fmt/format.h>

#include "contract/plural.hpp"
#include "verdict/detail/explain.hpp"
#include "verdict/detail/judge.hpp"
#include "verdict/detail/matching.hpp"
#include "verdict/detail/outcome.hpp"
#include "verdict/detail/row_builder.hpp"

namespace stepgauge::verdict {
namespace {

bool has_machine(const ResultSet& results) {
  return results.fingerprint.is_object() && !results.fingerprint.empty();
}

void check_age(const ResultSet& base, const Policy& policy, Comparison& out) {
  if (policy.now.empty() || base.expires_at.empty() || policy.now < base.expires_at) return;
  out.comparable = false;
  out.refusal = fmt::format(
      "{} expired on {}: machines and their software change meanwhile. Measure the suite again and keep it (`stepgauge "
      "baseline merge RUN` adds a session, `baseline save RUN --accept REASON` starts anew); --allow-expired compares "
      "all the same",
      base.name, base.expires_at.substr(0, 10));
}

/// Sets comparable, refusal and machine.
void check_machines(const ResultSet& base, const ResultSet& head, const Policy& policy, Comparison& out) {
  for (const auto* side : {&base, &head}) {
    if (has_machine(*side)) continue;
    out.refusal = fmt::format("{} has no machine data (fingerprint), so it cannot be compared", side->name);
    return;
  }
  out.machine = differences(base.fingerprint, head.fingerprint);
  out.comparable = out.machine.empty() || policy.allow_different_machine;
  if (out.comparable) return check_age(base, policy, out);
  out.refusal = "the machines differ in ";
  for (std::size_t i = 0; i < out.machine.size(); ++i) {
    const auto& item = out.machine[i];
    out.refusal += fmt::format("{}{} ({} / {})", i == 0 ? "" : ", ", item.field, item.base, item.head);
  }
}

std::string reason_of_missing(const CellResults& base, const ResultSet& head) {
  for (const auto& skipped : head.skipped) {
    if (skipped.hash == base.cell.hash && skipped.id == base.cell.id) {
      return fmt::format("head: {}{}{}", to_string(skipped.status), skipped.reason.empty() ? "" : ": ", skipped.reason);
    }
  }
  return "the cell is in base only";
}

void add_session_notes(Comparison& out) {
  if (out.base_sessions == 0) return;
  if (out.base_sessions == 1) {
    out.notes.push_back(
        "the baseline has one session: what differs between sessions is not in the intervals, and nothing blocks "
        "(`stepgauge baseline merge RUN` adds sessions, `stepgauge gate` needs none)");
  } else if (out.base_sessions < least_sessions) {
    out.notes.push_back(fmt::format("the baseline has {} of the {} sessions from which on it blocks", out.base_sessions,
                                    least_sessions));
  }
}

/// Measured times and rates never agree to the last digit.
void add_identical_note(Comparison& out) {
  std::size_t rows = 0;
  for (const auto& row : out.rows) {
    const bool timed = row.metric == "throughput" || row.metric == "init_latency" || row.metric == "first_step_latency";
    rows += timed && row.exact && row.base.n > 1 && row.head.n > 1;
  }
  if (rows > 0) {
    out.notes.push_back(
        fmt::format("{} of measured times {} the same value in every launch: does the worker measure, and is this "
                    "what it wrote?",
                    plural(rows, "row"), rows == 1 ? "has" : "have"));
  }
}

void add_notes(const detail::Matching& matching, const std::vector<const MetricInfo*>& metrics, Comparison& out) {
  std::size_t perturbed = 0;
  for (const auto& pair : matching.pairs) perturbed += is_perturbed(pair.head->cell);
  if (perturbed > 0) {
    out.notes.push_back(
        fmt::format("{} of the {} matched cells of head {} PERTURBED on purpose: no verdict on real performance",
                    perturbed, matching.pairs.size(), perturbed == 1 ? "is" : "are"));
  }
  if (!out.machine.empty()) out.notes.push_back("the machines differ; compared because that was asked for");
  std::size_t uneven = 0;
  for (const auto& row : out.rows) {
    if (row.metric != "peak_memory" || row.exact || row.base.n < 2 || row.head.n < 2) continue;
    uneven += row.base.cv.value_or(1) == 0 || row.head.cv.value_or(1) == 0;
  }
  if (uneven > 0) {
    out.notes.push_back(fmt::format(
        "peak_memory is the same in every launch on one side only in {}: unexplained spread", plural(uneven, "cell")));
  }
  add_session_notes(out);
  add_identical_note(out);
  for (auto& line : detail::explain(out.rows, matching.pairs)) out.notes.push_back(std::move(line));
  for (auto& line : detail::unjudged_notes(matching.pairs, metrics)) out.notes.push_back(std::move(line));
  if (out.counts.compared == 0 && out.counts.invalid + out.counts.missing == 0) {
    out.notes.push_back("nothing was compared");
  }
}

void compare_cells(const ResultSet& base, const ResultSet& head, const Policy& policy, Comparison& out) {
  const auto metrics = detail::judged_metrics(policy);
  const auto matching = detail::match_cells(base, head, policy.match_perturbed, policy.selected);
  out.cells_expected = matching.pairs.size() + matching.only_in_base.size();
  out.cells_matched = matching.pairs.size();
  out.cells_excluded = matching.excluded;
  std::vector<detail::Measured> measured;
  for (const auto& pair : matching.pairs) detail::add_rows(pair, metrics, !base.sessions.empty(), out, measured);
  for (const auto* cell : matching.only_in_base) {
    const auto reason = reason_of_missing(*cell, head);
    out.only_in_base.push_back({cell->cell.id, reason});
    detail::add_missing_cell(*cell, reason, metrics, out);
  }
  for (const auto* cell : matching.only_in_head) {
    out.only_in_head.push_back({cell->cell.id, "new: not in base (" + detail::outcome_of(*cell).text() + ")"});
  }
  detail::judge(out.rows, measured, policy);
  detail::require_history(out.rows);
  for (const auto& row : out.rows) {
    (row.blocking ? out.counts : out.advisory).add(row.verdict, row.change.has_value());
  }
  std::vector<std::pair<const CellResults*, const CellResults*>> pairs;
  for (const auto& pair : matching.pairs) pairs.emplace_back(pair.base, pair.head);
  out.software = software_differences(base, head, pairs);
  out.summaries = detail::summarise(out.rows);
  add_notes(matching, metrics, out);
}

}  // namespace

ExitCode exit_code_of(const Counts& counts) {
  if (counts.regressed > 0) return ExitCode::regression;
  if (counts.missing > 0) return ExitCode::not_comparable;
  if (counts.invalid > 0) return ExitCode::measurement_failed;
  if (counts.inconclusive > 0) return ExitCode::inconclusive;
  return counts.compared == 0 ? ExitCode::not_comparable : ExitCode::nothing_worse;
}

void Counts::add(Verdict verdict, bool has_numbers) {
  switch (verdict) {
    case Verdict::pass:
      ++passed;
      break;
    case Verdict::regressed:
      ++regressed;
      break;
    case Verdict::improved:
      ++improved;
      break;
    case Verdict::inconclusive:
      ++inconclusive;
      break;
    case Verdict::invalid:
      ++invalid;
      break;
    case Verdict::missing:
      ++missing;
      break;
  }
  if (has_numbers) ++compared;
}

Comparison compare(const ResultSet& base, const ResultSet& head, const Policy& policy) {
  Comparison out;
  out.suite = head.suite;
  out.base_name = base.name;
  out.head_name = head.name;
  out.base_created_at = base.created_at;
  out.head_created_at = head.created_at;
  out.base_sessions = base.sessions.size();
  out.base_expires_at = base.expires_at;
  check_machines(base, head, policy, out);
  if (out.comparable) compare_cells(base, head, policy, out);
  out.exit_code = out.comparable ? exit_code_of(out.counts) : ExitCode::not_comparable;
  return out;
}

}  // namespace stepgauge::verdict
