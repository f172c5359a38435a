// stepgauge baseline save|merge|show|diff|table: the reference results of a machine.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "cli/commands.hpp"
#include "cli/result_output.hpp"
#include "cli/utc.hpp"
#include "contract/plural.hpp"
#include "report/baseline_table.hpp"
#include "report/text.hpp"
#include "store/baseline.hpp"
#include "store/baseline_sessions.hpp"
#include "store/fingerprint.hpp"
#include "store/history.hpp"
#include "store/load.hpp"
#include "store/output_folder.hpp"
#include "store/run_folder.hpp"
#include "verdict/compare.hpp"
#include "verdict/side_by_side.hpp"

namespace stepgauge::cli {
namespace {

struct BaselineOptions {
  std::string source, accept, root = "results/baselines", out;
  std::vector<std::string> sources;
  bool json = false, expired = false;
};

verdict::Comparison against_stored(const ResultSet& results, const std::filesystem::path& path) {
  return verdict::compare(store::load(path).results, results);
}

/// The command that measured: of the run, not of this save.
std::vector<std::string> measuring_command(const std::string& source) {
  return std::filesystem::is_directory(source) ? store::RunFolder::open(source).info().command
                                               : store::load(source).command;
}

/// The run as one session, with the id that every copy of it has; a baseline as it is.
ResultSet with_sessions(const std::string& source, const std::string& root) {
  auto results = store::load_result_set(source, {root, ""});
  if (!std::filesystem::is_directory(source)) return results;
  const auto info = store::RunFolder::open(source).info();
  return store::as_session(std::move(results), {store::run_id(info), info.created_at, source, store::current_commit()});
}

/// What the old file will be said to have been, beside the new one; null when the two cannot be compared.
Json replaced_json(const store::Baseline& old, const verdict::Comparison& comparison) {
  if (!comparison.comparable) return nullptr;
  return {{"measured_at", old.results.created_at},
          {"saved_at", old.saved_at},
          {"source", old.source},
          {"rows", side_by_side(comparison)}};
}

void tell_saved(const std::filesystem::path& path, const ResultSet& results, std::size_t worse,
                const BaselineOptions& options) {
  if (options.json) {
    fmt::print("{}\n", dump_line({{"saved", path.string()},
                                  {"cells", results.cells.size()},
                                  {"sessions", results.sessions.size()},
                                  {"worse", worse}}));
  } else {
    fmt::print("saved {} ({} cells)\n", path.string(), results.cells.size());
    if (results.sessions.size() > 1) fmt::print("it has {} sessions\n", results.sessions.size());
    if (worse > 0) fmt::print("{} rows are worse than before, accepted: {}\n", worse, options.accept);
  }
  std::size_t few = 0;
  for (const auto& cell : results.cells) {
    few += std::count_if(cell.launches.begin(), cell.launches.end(),
                         [](const LaunchRecord& launch) { return launch.status == Status::ok; }) < 2;
  }
  if (few > 0)
    fmt::print(
        stderr,
        "stepgauge: {} of {} cells have fewer than two ok launches: every comparison with them is inconclusive\n", few,
        results.cells.size());
}

/// The baseline that --accept replaces; nullopt when there is none, or one that cannot be read, which is said.
std::optional<store::Baseline> replaceable(const std::filesystem::path& path, const BaselineOptions& options) {
  if (options.accept.empty() || !std::filesystem::exists(path)) return std::nullopt;
  try {
    return store::load(path);
  } catch (const ContractError& error) {
    fmt::print(stderr, "stepgauge: the old baseline cannot be read and does not stand beside the new one: {}\n",
               report::printable(error.what()));
    return std::nullopt;
  }
}

void save(const BaselineOptions& options, Program& program) {
  const auto results = with_sessions(options.source, options.root);
  try {
    store::SaveOptions how{measuring_command(options.source), utc_now(), options.accept};
    std::size_t worse = 0;
    const auto path = store::baseline_path(results, options.root);
    if (const auto old = replaceable(path, options)) {
      const auto comparison = verdict::compare(old->results, results);
      how.replaced = replaced_json(*old, comparison);
      worse = count_worse(comparison);
      if (!options.json) show_comparison(comparison, false);
    }
    store::save(results, options.root, how);
    tell_saved(path, results, worse, options);
  } catch (const store::BaselineExists& exists) {
    show_comparison(against_stored(results, exists.path()), options.json);
    fmt::print(stderr, "stepgauge: {}\n", exists.what());
    program.code = ExitCode::usage;
  }
}

/// Adds sessions to the baseline of their suite and machine, or makes it of them.
void merge(const BaselineOptions& options, Program& program) {
  std::vector<ResultSet> parts;
  for (const auto& source : options.sources) {
    parts.push_back(with_sessions(source, options.root));
    store::require_reference(parts.back());
  }
  const auto path = store::baseline_path(parts.front(), options.root);
  store::SaveOptions how{measuring_command(options.sources.back()), utc_now(), options.accept};
  if (!std::filesystem::exists(path)) {
    const auto joined = store::join_sessions(parts);
    store::save(joined, options.root, how);
    return tell_saved(path, joined, 0, options);
  }
  const auto old = store::load(path);
  const auto added = store::join_sessions(parts);
  const auto joined = store::join_sessions({old.results, added});
  const auto comparison = verdict::compare(old.results, added);
  const auto worse = count_worse(comparison);
  if (worse > 0 && options.accept.empty()) {
    show_comparison(comparison, options.json);
    fmt::print(
        stderr,
        "stepgauge: {}: {} rows of what is to be added are worse than the baseline by more than their tolerance; "
        "nothing was changed. --accept \"reason\" takes them in\n",
        path.string(), worse);
    program.code = ExitCode::usage;
    return;
  }
  how.accept_reason = options.accept.empty() ? "sessions added" : options.accept;
  how.replaced = replaced_json(old, comparison);
  store::save(joined, options.root, how);
  tell_saved(path, joined, worse, options);
}

bool is_expired(const store::Baseline& baseline) {
  return !baseline.results.expires_at.empty() && baseline.results.expires_at <= utc_now();
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
                    {"sessions", baseline.results.sessions.size()},
                    {"expires_at", baseline.results.expires_at},
                    {"expired", is_expired(baseline)},
                    {"reason", baseline.reason}});
    if (!options.json) {
      fmt::print("baseline:{}@{}  {} cells, {}, saved {}, {} {}{}\n", file.suite, file.slug,
                 baseline.results.cells.size(), plural(baseline.results.sessions.size(), "session"), baseline.saved_at,
                 is_expired(baseline) ? "EXPIRED" : "expires", baseline.results.expires_at.substr(0, 10),
                 baseline.reason.empty() ? "" : ", accepted: " + report::printable(baseline.reason));
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
  verdict::Policy policy;
  if (!options.expired) policy.now = utc_now();
  const auto comparison = verdict::compare(store::load(*path).results, results, policy);
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
    store::make_output_folder(options.out);
    store::write_output_file(target, text);
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

  auto* merge_command =
      add_action(*command, "merge", "add the sessions of runs to the baseline of their suite and machine", options);
  merge_command->add_option("runs", options->sources, "run folders, or baseline files")->required();
  merge_command->add_option("--accept", options->accept, "reason for taking in rows that are worse than the baseline");
  merge_command->footer(
      "Five sessions and 20 launches of a cell make a baseline that blocks.\n"
      "Example: stepgauge baseline merge runs/monday runs/tuesday");
  merge_command->callback([options, &program] { merge(*options, program); });

  auto* show_command = add_action(*command, "show", "one baseline's table, or the list of all", options);
  show_command->add_option("baseline", options->source, "baseline:SUITE[@MACHINE] or file; none: list them");
  show_command->footer("Example: stepgauge baseline show baseline:smoke");
  show_command->callback([options] { show(*options); });

  auto* diff_command = add_action(*command, "diff", "a run against the baseline of its suite and machine", options);
  diff_command->add_option("run", options->source, "run folder")->required();
  diff_command->add_flag("--allow-expired", options->expired, "compare although the baseline is older than 30 days");
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
