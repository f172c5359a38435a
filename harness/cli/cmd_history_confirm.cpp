// stepgauge history confirm: the alarms of a history, measured side by side.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>

#include "cli/confirm_session.hpp"
#include "cli/history_confirm.hpp"
#include "cli/history_series.hpp"
#include "cli/result_output.hpp"
#include "cli/utc.hpp"
#include "config/config_error.hpp"
#include "machine/machine.hpp"
#include "report/confirmation_table.hpp"
#include "report/text.hpp"
#include "store/fingerprint.hpp"
#include "store/history.hpp"
#include "store/run_folder.hpp"

namespace stepgauge::cli {
namespace {

struct ConfirmCommand {
  SuiteOptions suite;
  std::string history = "results/history", repository = ".", out, resume;
  std::vector<std::string> build;
  SeriesChoice choice;
  std::optional<std::uint32_t> seed;
  bool again = false, json = false, quiet = false;
};

/// The history of the suite on this machine; where the suite has been measured with and without GPUs, that of the last
/// night.
const store::History& history_here(const std::vector<store::History>& histories, const std::string& suite,
                                   const std::string& folder) {
  const auto machine = to_json(machine::inspect());
  const store::History* out = nullptr;
  for (const auto& history : histories) {
    if (history.suite != suite || history.nights.empty()) continue;
    const auto& last = history.nights.back();
    const auto here = store::fingerprint(machine, last.fingerprint.contains("gpus"));
    if (store::fingerprint_slug(here) != history.slug) continue;
    if (out == nullptr || last.tip.created_at > out->nights.back().tip.created_at) out = &history;
  }
  if (out == nullptr)
    throw store::HistoryMissing(
        fmt::format("no history of suite {} on this machine under {}: alarms are confirmed where they were measured",
                    suite, folder));
  return *out;
}

std::filesystem::path open_folder(const ConfirmCommand& options, const std::string& suite) {
  if (!options.resume.empty()) {
    if (!std::filesystem::is_directory(options.resume))
      throw config::ConfigError("", 0, 0, fmt::format("--resume {}: there is no such folder", options.resume));
    return options.resume;
  }
  std::filesystem::path out =
      options.out.empty() ? fmt::format("runs/{}-confirm-{}", suite, utc_now("%Y%m%d-%H%M%S")) : options.out;
  if (std::filesystem::exists(out) && !std::filesystem::is_empty(out))
    throw store::RunConflict(out.string() + " is not empty; --resume goes on with a confirmation");
  return out;
}

ConfirmOptions session_options(const ConfirmCommand& options, const std::string& suite) {
  ConfirmOptions out;
  out.suite = options.suite;
  out.repository = options.repository;
  out.build = build_commands(options.build);
  out.folder = open_folder(options, suite);
  out.seed = options.seed ? *options.seed : std::random_device()();
  out.quiet = options.quiet;
  return out;
}

Json alarm_json(const verdict::MeasuredAlarm& item, const store::History& history) {
  Json out{{"cell", item.alarm.cell}, {"metric", item.alarm.metric}, {"folder", item.folder}};
  out["last_good"] = {{"night", history.nights[item.alarm.last_good].tip.run}, {"commit", item.good}};
  out["first_bad"] = {{"night", history.nights[item.alarm.first_bad].tip.run}, {"commit", item.bad}};
  out["verdict"] = item.test ? Json(to_string(verdict::confirmation_verdict(*item.test))) : Json();
  out["reason"] = item.test ? item.test->reason : item.alarm.problem;
  out["pairs"] = item.test ? item.test->pairs : 0;
  return out;
}

/// Whether there is more than one commit to search. No where a bisection could not: no line of commits between them.
bool is_range(const std::string& repository, const verdict::MeasuredAlarm& item) {
  try {
    return commits_between(repository, item.good, item.bad).size() > 2;
  } catch (const config::ConfigError&) {
    return false;
  }
}

/// How to find the commit within a confirmed range.
void tell_bisect(const std::vector<verdict::MeasuredAlarm>& alarms, const ConfirmCommand& options,
                 const Program& program) {
  for (const auto& item : alarms) {
    if (!item.test || verdict::confirmation_verdict(*item.test) != ConfirmationVerdict::confirmed) continue;
    if (!is_range(options.repository, item)) continue;
    fmt::print(stderr,
               "stepgauge: which commit of the range it is: {} bisect {} --cell '{}' --metric {} --good {} --bad {}, "
               "with --repo and --build as here\n",
               program.name, options.suite.suite_path, report::printable(item.alarm.cell), item.alarm.metric, item.good,
               item.bad);
    return;
  }
}

void confirm(const ConfirmCommand& options, Program& program) {
  const auto suite = config::load_suite(options.suite.suite_path);
  auto session_of = session_options(options, suite.name);
  require_repository(options.repository);
  const auto histories = store::read_histories(options.history);
  require_matches(histories, options.choice);
  const auto& history = history_here(histories, suite.name, options.history);
  const auto before = verdict::judge_trend(trend_input(history, options.choice));
  const auto alarms = verdict::alarms_to_confirm(before, options.again);
  if (!options.quiet && !alarms.empty())
    fmt::print(stderr, "stepgauge: alarms to confirm: {}, with {} pairs each; seed {}\n", alarms.size(),
               verdict::confirmation_pairs, session_of.seed);
  const auto folder = session_of.folder.string();
  const auto result = ConfirmSession(std::move(session_of), history, program).run(alarms);
  const auto left = verdict::judge_trend(trend_input(store::read_history(history.path), options.choice));
  const bool unmeasured =
      std::any_of(result.alarms.begin(), result.alarms.end(), [](const auto& item) { return !item.test; });
  program.code = result.interrupted ? ExitCode::measurement_failed : verdict::confirmation_exit_code(left, unmeasured);
  if (options.json) {
    auto list = Json::array();
    for (const auto& item : result.alarms) list.push_back(alarm_json(item, history));
    fmt::print("{}\n", dump_line({{"schema", "stepgauge.confirm"},
                                  {"version", 1},
                                  {"alarms", list},
                                  {"exit_code", static_cast<int>(program.code)}}));
  } else {
    fmt::print("{}", report::confirmation_table(result.alarms, left, program.code, terminal_style()));
    tell_bisect(result.alarms, options, program);
  }
  if (!result.interrupted) return;
  fmt::print(stderr, "stepgauge: interrupted; nothing is left running. Go on with --resume {}\n", folder);
}

}  // namespace

void add_history_confirm(CLI::App& history, Program& program) {
  auto options = std::make_shared<ConfirmCommand>();
  auto* command = history.add_subcommand(
      "confirm", "measure the alarms that block: the last good commit against the first bad one, side by side");
  command->add_option("folder", options->history, "folder of the history")->capture_default_str();
  command->add_option("--suite", options->suite.suite_path, "suite of the nights, YAML or JSON")->required();
  command->add_option("--repo", options->repository, "git repository with the commits of the nights")
      ->capture_default_str();
  command
      ->add_option("--build", options->build,
                   "builds a commit, words as in --worker; {source} is its work tree, {out} the program or build "
                   "folder to make; several run one after the other")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--only", options->choice.only, "series that match one of these globs (CELL or CELL:METRIC)");
  command->add_flag("--again", options->again, "also alarms whose last confirmation was not decided");
  command->add_option("--seed", options->seed, "of the order within pairs (default: drawn and printed)");
  options->suite.add_workers_to(*command);
  options->suite.launcher.add_to(*command);
  auto* out = command->add_option("--out", options->out, "folder to make (default: runs/<suite>-confirm-<time>)");
  command->add_option("--resume", options->resume, "go on with a confirmation in this folder")->excludes(out);
  command->add_flag("--json", options->json, "JSON on standard output (schema confirm)");
  command->add_flag("--quiet", options->quiet, "no progress on standard error");
  command->footer(
      "Example:\n"
      "  stepgauge history confirm --suite configs/nightly.yaml --repo . \\\n"
      "    --build 'cmake -S {source} -B {out} -G Ninja' --build 'ninja -C {out} stepgauge-worker'\n"
      "Exit codes: 0 nothing blocks any more, 1 an alarm is confirmed, 2 usage or config error, 3 a commit cannot be\n"
      "            built or measured, or interrupted, 4 not decided, 5 no history, or nothing to judge");
  command->callback([options, &program] { confirm(*options, program); });
}

}  // namespace stepgauge::cli
