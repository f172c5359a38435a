// stepgauge compare BASE HEAD: verdicts between two stored results.
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/result_output.hpp"
#include "cli/utc.hpp"
#include "config/selection.hpp"
#include "store/fingerprint.hpp"
#include "store/load.hpp"
#include "verdict/compare.hpp"

namespace stepgauge::cli {
namespace {

struct CompareOptions {
  std::string base, head;
  std::string baselines = "results/baselines";
  config::Selection selection;
  bool json = false, any_machine = false, expired = false;
};

/// The cells that the globs choose, on both sides: a glob must match something on one of them.
std::function<bool(const Cell&)> selected_cells(const CompareOptions& options, const ResultSet& base,
                                                const ResultSet& head) {
  if (options.selection.only.empty() && options.selection.skip.empty()) return {};
  std::vector<Cell> all;
  for (const auto* side : {&base, &head}) {
    for (const auto& cell : side->cells) all.push_back(cell.cell);
  }
  std::vector<std::string> ids;
  for (const auto& cell : config::select(all, options.selection)) ids.push_back(cell.id);
  return [ids](const Cell& cell) { return std::find(ids.begin(), ids.end(), cell.id) != ids.end(); };
}

void compare(const CompareOptions& options, Program& program) {
  // "baseline:SUITE" means this machine's: the one whose fingerprint the head has.
  const auto head = store::load_result_set(options.head, {options.baselines, ""});
  const auto base =
      store::load_result_set(options.base, {options.baselines, store::fingerprint_slug(head.fingerprint)});
  verdict::Policy policy;
  policy.allow_different_machine = options.any_machine;
  if (!options.expired) policy.now = utc_now();
  policy.selected = selected_cells(options, base, head);
  const auto comparison = verdict::compare(base, head, policy);
  show_comparison(comparison, options.json);
  program.code = comparison.exit_code;
}

}  // namespace

void add_compare(Program& program) {
  auto options = std::make_shared<CompareOptions>();
  auto* command = program.app.add_subcommand(
      "compare", "judge HEAD against BASE: per cell and metric a ratio, an interval and a verdict");
  command->add_option("base", options->base, "run folder, baseline:SUITE[@MACHINE], baseline file, or REV:PATH of one")
      ->required();
  command->add_option("head", options->head, "the same")->required();
  command->add_option("--only", options->selection.only, "compare only cells whose id matches one of these globs");
  command->add_option("--skip", options->selection.skip, "leave out cells whose id matches one of these globs");
  command->add_option("--baselines", options->baselines, "folder of the baselines")->capture_default_str();
  command->add_flag("--allow-different-machine", options->any_machine, "compare although the fingerprints differ");
  command->add_flag("--allow-expired", options->expired, "compare although the baseline is older than 30 days");
  command->add_flag("--json", options->json, "JSON on standard output (schema comparison)");
  command->footer(
      "Examples:\n"
      "  stepgauge compare baseline:smoke runs/b\n"
      "  stepgauge compare main:results/baselines/MACHINE/smoke.jsonl runs/b\n"
      "Exit codes: 0 nothing worse, 1 confirmed regression, 3 head's measurement failed, 4 inconclusive, 5 missing or "
      "not comparable");
  command->callback([options, &program] { compare(*options, program); });
}

}  // namespace stepgauge::cli
