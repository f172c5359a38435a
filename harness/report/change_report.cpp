#include "report/change_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "report/detail/escape.hpp"
#include "report/detail/number.hpp"
#include "report/detail/verdict_words.hpp"

namespace stepgauge::report {
namespace {

using detail::change_text;

std::string with_unit(const std::string& number, Scale scale) {
  if (number == "-") return number;
  return number + (scale == Scale::ratio ? " %" : " points");
}

/// Of a `verdict::Row` or a `verdict::GateRow`, but for what only one of them has.
template <typename Row>
ChangeRow change_row(const Row& row) {
  ChangeRow out;
  out.cell = row.cell;
  out.base_cell = row.base_cell;
  out.metric = row.metric;
  out.unit = row.unit;
  out.change = with_unit(change_text(row.scale, row.change, true), row.scale);
  const auto interval = detail::interval_text(row);
  out.interval = interval == "exact" ? interval : with_unit(interval, row.scale);
  out.tolerance = row.threshold ? with_unit(change_text(row.scale, row.threshold, false), row.scale) : "-";
  out.mde = with_unit(change_text(row.scale, row.mde, false), row.scale);
  out.verdict = row.verdict;
  out.perturbed = row.perturbed;
  out.reason = row.reason;
  if (row.change && row.threshold)
    out.worse = (row.better == Better::higher ? -*row.change : *row.change) >= *row.threshold;
  return out;
}

/// The command that made the gate, with the seed that it drew.
std::vector<std::string> with_seed(std::vector<std::string> command, std::uint64_t seed) {
  const bool given = std::any_of(command.begin(), command.end(), [](const std::string& word) {
    return word == "--seed" || word.starts_with("--seed=");
  });
  if (given || command.empty()) return command;
  command.emplace_back("--seed");
  command.push_back(fmt::format("{}", seed));
  return command;
}

/// Whether the name of a result is what it was loaded from: runs are called by their folder, baselines by words.
bool is_path(const std::string& name) {
  return !name.empty() && name.find(' ') == std::string::npos;
}

std::string program_of(const std::vector<std::string>& command) {
  return command.empty() ? "stepgauge" : command.front();
}

}  // namespace

ChangeReport change_report(const verdict::Gate& gate, const verdict::GateContext& context) {
  ChangeReport out;
  out.suite = context.suite;
  out.base = fmt::format("{}", fmt::join(context.base, " + "));
  out.head = fmt::format("{}", fmt::join(context.head, " + "));
  out.exit_code = gate.exit_code;
  out.stopped = context.stopped;
  out.interrupted = context.interrupted;
  out.counts = gate.counts;
  out.not_gateable = gate.not_gateable;
  out.cells_measured = gate.cells_measured;
  out.cells_expected = gate.cells_expected;
  for (const auto& row : gate.rows) {
    auto& added = out.rows.emplace_back(change_row(row));
    added.base = detail::four_digits(row.base);
    added.head = detail::four_digits(row.head);
    added.launches = fmt::format("{}{} pairs", row.pairs, row.stage == verdict::GateStage::confirm ? " new" : "");
    added.gateable = row.gateable;
    if (row.suspicion == verdict::Suspicion::worse && row.verdict == verdict::Verdict::inconclusive) added.worse = true;
  }
  std::copy_if(context.skipped.begin(), context.skipped.end(), std::back_inserter(out.skipped),
               [](const SkippedCell& cell) { return cell.status == Status::unsupported; });
  out.software = context.software;
  out.notes = gate.notes;
  out.design = fmt::format(
      "{} pairs of each cell, {} new ones of cells under suspicion; rows suspected: {}, pairs dropped: {}; launches "
      "ok, "
      "failed, spoilt: {}, {}, {} of base and {}, {}, {} of head",
      context.policy.screen_pairs, context.policy.confirm_pairs, gate.suspected, gate.spoilt_pairs, gate.base.ok,
      gate.base.failed, gate.base.outside, gate.head.ok, gate.head.failed, gate.head.outside);
  out.seed = context.policy.seed;
  out.attempts = context.attempts;
  out.command = detail::shell_words(with_seed(context.command, context.policy.seed));
  const auto program = program_of(context.command);
  out.resume = detail::shell_words({program, "gate", context.suite_path, "--resume", context.folder});
  out.new_baseline = detail::shell_words({program, "baseline", "save", context.folder + "/head"});
  out.created_at = context.created_at;
  out.folder = context.folder;
  out.fingerprint = context.fingerprint;
  out.elapsed_s = context.elapsed_s;
  return out;
}

ChangeReport change_report(const verdict::Comparison& comparison) {
  ChangeReport out;
  out.gate = false;
  out.suite = comparison.suite;
  out.base = fmt::format("{} ({})", comparison.base_name, comparison.base_created_at);
  out.head = fmt::format("{} ({})", comparison.head_name, comparison.head_created_at);
  out.exit_code = comparison.exit_code;
  out.refusal = comparison.comparable ? "" : comparison.refusal;
  out.counts = comparison.counts;
  out.cells_measured = comparison.cells_matched;
  out.cells_expected = comparison.cells_expected;
  for (const auto& row : comparison.rows) {
    auto& added = out.rows.emplace_back(change_row(row));
    added.base = detail::four_digits(row.base.mean);
    added.head = detail::four_digits(row.head.mean);
    added.launches = fmt::format("{} and {} launches", row.base.n, row.head.n);
    added.advisory = !row.blocking;
  }
  for (const auto& cell : comparison.only_in_base)
    out.skipped.push_back({cell.id, "", Status::skipped, "in base only: " + cell.reason});
  for (const auto& cell : comparison.only_in_head)
    out.skipped.push_back({cell.id, "", Status::skipped, "in head only: " + cell.reason});
  out.machine = comparison.machine;
  out.software = comparison.software;
  out.notes = comparison.notes;
  if (is_path(comparison.head_name)) {
    out.new_baseline = detail::shell_words({"stepgauge", "baseline", "save", comparison.head_name});
    if (is_path(comparison.base_name))
      out.command = detail::shell_words({"stepgauge", "compare", comparison.base_name, comparison.head_name});
  }
  out.created_at = comparison.head_created_at;
  return out;
}

}  // namespace stepgauge::report
