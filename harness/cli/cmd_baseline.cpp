// stepgauge baseline save|show|diff|table: the reference results of a machine.
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/result_output.hpp"
#include "cli/utc.hpp"
#include "report/baseline_table.hpp"
#include "store/baseline.hpp"
#include "store/fingerprint.hpp"
#include "store/load.hpp"
#include "store/run_folder.hpp"
#include "verdict/compare.hpp"

namespace stepgauge::cli {
namespace {

struct BaselineOptions {
  std::string source, accept, root = "results/baselines", out;
  bool json = false;
};

verdict::Comparison against_stored(const ResultSet& results, const std::filesystem::path& path) {
  return verdict::compare(store::load(path).results, results);
}

/// The command that measured: of the run, not of this save.
std::vector<std::string> measuring_command(const std::string& source) {
  return std::filesystem::is_directory(source) ? store::RunFolder::open(source).info().command
                                               : store::load(source).command;
}

void save(const BaselineOptions& options, Program& program) {
  const auto results = store::load_result_set(options.source, {options.root, ""});
  try {
    const auto path =
        store::save(results, options.root, {measuring_command(options.source), utc_now(), options.accept});
    if (options.json) {
      fmt::print("{}\n", dump_line({{"saved", path.string()}, {"cells", results.cells.size()}}));
    } else {
      fmt::print("saved {} ({} cells)\n", path.string(), results.cells.size());
    }
  } catch (const store::BaselineExists& exists) {
    show_comparison(against_stored(results, exists.path()), options.json);
    fmt::print(stderr, "stepgauge: {}\n", exists.what());
    program.code = ExitCode::usage;
  }
}

void show(const BaselineOptions& options) {
  if (!options.source.empty()) {
    show_results(store::load_result_set(options.source, {options.root, ""}), options.source, options.json);
    return;
  }
  auto list = Json::array();
  for (const auto& file : store::list(options.root)) {
    const auto baseline = store::load(file.path);
    list.push_back({{"suite", file.suite},
                    {"machine", file.slug},
                    {"path", file.path.string()},
                    {"saved_at", baseline.saved_at},
                    {"cells", baseline.results.cells.size()},
                    {"reason", baseline.reason}});
    if (!options.json) {
      fmt::print("baseline:{}@{}  {} cells, saved {}{}\n", file.suite, file.slug, baseline.results.cells.size(),
                 baseline.saved_at, baseline.reason.empty() ? "" : ", accepted: " + baseline.reason);
    }
  }
  if (options.json) fmt::print("{}\n", dump_line({{"baselines", list}}));
  if (list.empty()) throw store::BaselineMissing(fmt::format("no baseline under {}", options.root));
}

void diff(const BaselineOptions& options, Program& program) {
  const auto results = store::load_result_set(options.source, {options.root, ""});
  const auto slug = store::fingerprint_slug(results.fingerprint);
  const auto path = store::find(options.root, slug, results.suite);
  if (!path)
    throw store::BaselineMissing(
        fmt::format("no baseline of suite {} for {} under {}", results.suite, slug, options.root));
  const auto comparison = against_stored(results, *path);
  show_comparison(comparison, options.json);
  program.code = comparison.exit_code;
}

void table(const BaselineOptions& options) {
  std::vector<std::filesystem::path> paths;
  if (options.source.empty()) {
    for (const auto& file : store::list(options.root)) paths.push_back(file.path);
  } else {
    const auto results = store::load_result_set(options.source, {options.root, ""});
    paths.push_back(store::baseline_path(results, options.root));
  }
  if (paths.empty()) throw store::BaselineMissing(fmt::format("no baseline under {}", options.root));
  auto written = Json::array();
  for (const auto& path : paths) {
    const auto baseline = store::load(path);
    const auto text = report::baseline_markdown(baseline.results, {baseline.command, baseline.source});
    if (options.out.empty()) {
      if (!options.json) fmt::print("{}", text);
      written.push_back({{"baseline", path.string()}, {"markdown", text}});
      continue;
    }
    const auto target =
        std::filesystem::path(options.out) /
        fmt::format("{}_{}.md", baseline.results.suite, store::fingerprint_slug(baseline.results.fingerprint));
    std::filesystem::create_directories(options.out);
    write_text_file(target, text);
    if (!options.json) fmt::print("wrote {}\n", target.string());
    written.push_back({{"baseline", path.string()}, {"table", target.string()}});
  }
  if (options.json) fmt::print("{}\n", dump_line({{"tables", written}}));
}

CLI::App* add_action(CLI::App& parent, const char* name, const char* what,
                     const std::shared_ptr<BaselineOptions>& options) {
  auto* action = parent.add_subcommand(name, what);
  action->add_option("--baselines", options->root, "folder of the baselines")->capture_default_str();
  action->add_flag("--json", options->json, "JSON on standard output");
  return action;
}

}  // namespace

void add_baseline(Program& program) {
  auto options = std::make_shared<BaselineOptions>();
  auto* command = program.app.add_subcommand("baseline", "the reference results of this machine");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  stepgauge baseline save runs/a     keep it as the reference\n"
      "  stepgauge baseline show            what is kept");

  auto* save_command = add_action(*command, "save", "keep a run as the baseline of its suite and machine", options);
  save_command->add_option("run", options->source, "run folder")->required();
  save_command->add_option("--accept", options->accept, "reason for replacing the baseline that is there");
  save_command->footer("Example: stepgauge baseline save runs/a --accept 'driver update, see #12'");
  save_command->callback([options, &program] { save(*options, program); });

  auto* show_command = add_action(*command, "show", "one baseline's table, or the list of all", options);
  show_command->add_option("baseline", options->source, "baseline:SUITE[@MACHINE] or file; none: list them");
  show_command->footer("Example: stepgauge baseline show baseline:smoke");
  show_command->callback([options] { show(*options); });

  auto* diff_command = add_action(*command, "diff", "a run against the baseline of its suite and machine", options);
  diff_command->add_option("run", options->source, "run folder")->required();
  diff_command->footer("Example: stepgauge baseline diff runs/b");
  diff_command->callback([options, &program] { diff(*options, program); });

  auto* table_command = add_action(*command, "table", "Markdown table of one baseline, or of all", options);
  table_command->add_option("baseline", options->source, "baseline:SUITE[@MACHINE] or file; none: all");
  table_command->add_option("--out", options->out,
                            "folder to write to, e.g. results/tables (default: standard output)");
  table_command->footer("Example: stepgauge baseline table --out results/tables");
  table_command->callback([options] { table(*options); });
}

}  // namespace stepgauge::cli
