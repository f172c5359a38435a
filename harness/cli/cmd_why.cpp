// stepgauge why GATE_FOLDER, stepgauge why BASE HEAD: what differs where a row is worse.
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/result_output.hpp"
#include "cli/why_evidence.hpp"
#include "config/config_error.hpp"
#include "config/selection.hpp"
#include "report/why_table.hpp"
#include "store/fingerprint.hpp"
#include "store/load.hpp"
#include "store/run_folder.hpp"
#include "verdict/compare.hpp"

namespace stepgauge::cli {
namespace {

struct WhyCommand {
  std::vector<std::string> what;
  std::string baselines = "results/baselines";
  std::vector<std::string> cells;
  std::size_t top = 8;
  bool all = false, json = false, any_machine = false;
};

/// Both arms with the rows that were judged of them.
struct Judged {
  Results base, head;
  std::vector<verdict::JudgedRow> rows;
  std::string refusal;
  std::vector<std::string> notes;
};

Judged judged_gate(const std::filesystem::path& folder) {
  const auto file = folder / "gate.json";
  if (!std::filesystem::exists(file)) {
    if (std::filesystem::exists(folder / "head" / "run.json"))
      throw ContractError(
          fmt::format("{}: the gate has no verdict yet (gate.json is missing); go on with it: stepgauge "
                      "gate SUITE --resume {}",
                      folder.string(), folder.string()));
    if (std::filesystem::exists(folder / "run.json"))
      throw ContractError(fmt::format(
          "{}: is a run; a second one to compare it with is needed: stepgauge why BASE HEAD", folder.string()));
    throw ContractError(fmt::format("{}: holds no gate (gate.json is missing)", folder.string()));
  }
  const auto document = parse_json(read_text_file(file.string()), file.string());
  Judged out;
  out.rows = verdict::judged_rows_of_gate(document, file.string());
  for (auto* side : {&out.base, &out.head}) {
    side->folder = folder / (side == &out.base ? "base" : "head");
    const auto run = store::RunFolder::open(side->folder);
    side->set = run.results();
    side->workers = run.info().workers;
    side->set.name = side->folder.string();
  }
  if (const auto stopped = optional<std::string>(document, "stopped", "", file.string()); !stopped.empty())
    out.notes.push_back("the gate ended early: " + stopped);
  return out;
}

Results load(const std::string& spec, const store::LoadOptions& options) {
  std::error_code error;
  if (!std::filesystem::is_directory(spec, error)) return {store::load_result_set(spec, options), {}};
  const auto run = store::RunFolder::open(spec);
  return {run.results(), spec, run.info().workers};
}

Judged judged_comparison(const WhyCommand& options) {
  Judged out;
  out.head = load(options.what[1], {options.baselines, ""});
  out.base = load(options.what[0], {options.baselines, store::fingerprint_slug(out.head.set.fingerprint)});
  verdict::Policy policy;
  policy.allow_different_machine = options.any_machine;
  const auto comparison = verdict::compare(out.base.set, out.head.set, policy);
  out.refusal = comparison.refusal;
  for (const auto& row : comparison.rows) out.rows.push_back(verdict::judged_row(row));
  return out;
}

/// The cells that the globs choose, by their ids in head.
std::vector<std::string> chosen_cells(const std::vector<std::string>& globs, const ResultSet& head) {
  if (globs.empty()) return {};
  std::vector<Cell> all;
  for (const auto& cell : head.cells) all.push_back(cell.cell);
  std::vector<std::string> out;
  for (const auto& cell : config::select(all, {globs, {}, "--cell"})) out.push_back(cell.id);
  return out;
}

void add_evidence(const Judged& judged, const verdict::WhyOptions& options, verdict::WhyEvidence& evidence) {
  const auto base = index_of(judged.base.set), head = index_of(judged.head.set);
  const auto for_cells = [&](const std::vector<verdict::JudgedRow>& rows, auto& known, const auto& make) {
    for (const auto& row : rows) {
      const auto in_base = base.find(row.base_cell), in_head = head.find(row.cell);
      if (in_base != base.end() && in_head != head.end() && known.count(row.cell) == 0)
        known[row.cell] = make(*in_base->second, *in_head->second);
    }
  };
  for_cells(judged.rows, evidence.clocks, clock_lines);
  for_cells(verdict::rows_to_explain(judged.rows, options), evidence.traces,
            [&](const CellResults& in_base, const CellResults& in_head) {
              return trace_evidence(judged.base, in_base, judged.head, in_head);
            });
}

void why(const WhyCommand& options, Program& program) {
  auto judged = options.what.size() == 1 ? judged_gate(options.what[0]) : judged_comparison(options);
  verdict::WhyOptions what;
  what.undecided = options.all;
  what.cells = chosen_cells(options.cells, judged.head.set);
  verdict::WhyEvidence evidence{
      judged.base.set, judged.head.set, judged.rows, {}, {}, worker_lines(judged.base, judged.head)};
  add_evidence(judged, what, evidence);
  auto found = verdict::explain_rows(evidence, what);
  if (!judged.refusal.empty()) found.refusal = judged.refusal;
  found.notes.insert(found.notes.end(), judged.notes.begin(), judged.notes.end());
  if (options.json) {
    fmt::print("{}\n", dump_line(to_json(found)));
  } else {
    fmt::print("{}", report::why_table(found, options.top, terminal_style()));
  }
  program.code = found.exit_code;
}

}  // namespace

void add_why(Program& program) {
  auto options = std::make_shared<WhyCommand>();
  auto* command = program.app.add_subcommand(
      "why", "what differs where a row is worse: settings, phases, kernels, collectives, memory; and in which cells");
  command
      ->add_option("what", options->what,
                   "folder of a gate; or BASE and HEAD as compare takes them: run folder, baseline:SUITE[@MACHINE], "
                   "baseline file, or REV:PATH of one")
      ->required()
      ->expected(1, 2);
  command->add_option("--cell", options->cells, "explain only rows of cells whose id matches one of these globs")
      ->allow_extra_args(false);
  command->add_flag("--all", options->all, "explain inconclusive rows as well");
  command->add_option("--top", options->top, "lines of each part of the evidence")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--baselines", options->baselines, "folder of the baselines")->capture_default_str();
  command->add_flag("--allow-different-machine", options->any_machine, "compare although the fingerprints differ");
  command->add_flag("--json", options->json, "JSON on standard output (schema why), with every line");
  command->footer(
      "Examples:\n"
      "  stepgauge why runs/smoke-gate-20261130-101500\n"
      "  stepgauge why baseline:smoke runs/b --cell 'llama*'\n"
      "Exit codes: 0 explained, or nothing is worse, 2 usage or a file that cannot be read, 5 nothing to compare");
  command->callback([options, &program] { why(*options, program); });
}

}  // namespace stepgauge::cli
