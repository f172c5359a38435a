// stepgauge history add|show|confirm|ack|pin: nightly runs, and what changed between them.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/history_confirm.hpp"
#include "cli/history_series.hpp"
#include "cli/result_output.hpp"
#include "cli/utc.hpp"
#include "report/text.hpp"
#include "report/trend_table.hpp"
#include "store/history.hpp"
#include "verdict/trend.hpp"

namespace stepgauge::cli {
namespace {

struct HistoryOptions {
  std::string folder = "results/history";
  std::string run, reference, reference_commit, night, name, series, reason, by;
  std::optional<std::string> commit;
  SeriesChoice choice;
  bool late = false, changes = false, json = false;
};

void add(const HistoryOptions& options) {
  store::NightOptions night;
  night.commit = options.commit ? *options.commit : store::current_commit();
  if (!options.reference.empty()) night.reference = options.reference;
  night.reference_commit = options.reference_commit;
  night.added_at = utc_now();
  night.late = options.late;
  const auto added = store::add_night(options.folder, options.run, night);
  if (options.json) {
    fmt::print(
        "{}\n",
        dump_line(
            {{"added", added.path.string()}, {"run", added.run}, {"commit", night.commit}, {"series", added.series}}));
    return;
  }
  fmt::print("added {} to {} ({} series)\n", added.run, added.path.string(), added.series);
  if (night.commit.empty()) {
    fmt::print(stderr, "stepgauge: the commit is not known (no git repository here); --commit tells it\n");
  }
}

void show(const HistoryOptions& options, Program& program) {
  const auto histories = store::read_histories(options.folder);
  require_matches(histories, options.choice);
  verdict::TrendPolicy policy;
  if (options.changes) policy.changes = verdict::ChangeSearch::always;
  auto list = Json::array();
  bool any = false, judged = false, regressed = false;
  std::string text;
  for (const auto& history : histories) {
    const auto input = trend_input(history, options.choice);
    if (input.series.empty()) continue;
    any = true;
    const auto trend = verdict::judge_trend(input, policy);
    judged = judged || trend.exit_code != ExitCode::not_comparable;
    regressed = regressed || trend.exit_code == ExitCode::regression;
    if (options.json) {
      list.push_back(to_json(trend));
    } else {
      text += (text.empty() ? "" : "\n") + report::trend_table(trend, terminal_style());
    }
  }
  if (!any)
    throw store::HistoryMissing(fmt::format(
        "no series{} under {}", options.choice.metric.empty() ? "" : " of " + options.choice.metric, options.folder));
  program.code = regressed ? ExitCode::regression : judged ? ExitCode::nothing_worse : ExitCode::not_comparable;
  fmt::print("{}", options.json ? dump_line({{"histories", list}, {"exit_code", static_cast<int>(program.code)}}) + "\n"
                                : text);
}

void acknowledge(const HistoryOptions& options) {
  const auto histories = store::read_histories(options.folder);
  const auto& history = store::history_with(histories, options.night);
  const auto count = count_series(history, options.series, "--series");
  store::append_history(history.path,
                        store::Acknowledgement{options.series, options.night, options.reason, options.by, utc_now()});
  if (options.json) {
    fmt::print("{}\n", dump_line({{"acknowledged", count}, {"night", options.night}, {"path", history.path.string()}}));
  } else {
    fmt::print("acknowledged {} series from {} on, in {}\n", count, options.night, history.path.string());
  }
}

void pin(const HistoryOptions& options) {
  const auto histories = store::read_histories(options.folder);
  const auto& history = store::history_with(histories, options.run);
  store::append_history(history.path, store::Pin{options.run, options.name, utc_now()});
  if (options.json) {
    fmt::print("{}\n", dump_line({{"pinned", options.run}, {"name", options.name}, {"path", history.path.string()}}));
  } else {
    fmt::print("pinned {} as {}, in {}\n", options.run, options.name, history.path.string());
  }
}

CLI::App* add_action(CLI::App& parent, const char* name, const char* what,
                     const std::shared_ptr<HistoryOptions>& options) {
  auto* action = parent.add_subcommand(name, what);
  action->add_flag("--json", options->json, "JSON on standard output");
  return action;
}

}  // namespace

void add_history(Program& program) {
  auto options = std::make_shared<HistoryOptions>();
  auto* command = program.app.add_subcommand("history", "nightly runs: what changed between them, and since when");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  stepgauge history add runs/tonight     keep a night\n"
      "  stepgauge history show                 which series changed\n"
      "How series are judged, and what the files hold: docs/history.md");

  auto* add_command = add_action(*command, "add", "append a run to the history of its suite and machine", options);
  add_command->add_option("run", options->run, "run folder")->required();
  add_command->add_option("--to", options->folder, "folder of the history")->capture_default_str();
  add_command->add_option("--commit", options->commit, "what was measured (default: of the git repository here)");
  add_command->add_option("--reference", options->reference,
                          "run folder of the frozen control build of the same night");
  add_command->add_option("--reference-commit", options->reference_commit, "tells one control build from the next")
      ->needs("--reference");
  add_command->add_flag("--late", options->late, "the run is older than the last night");
  add_command->footer(
      "Example: stepgauge history add runs/tonight --commit $(git rev-parse HEAD) --reference runs/frozen");
  add_command->callback([options] { add(*options); });

  auto* show_command = add_action(*command, "show", "per series its level, its noise, and the alarms", options);
  show_command->add_option("folder", options->folder, "folder of the history")->capture_default_str();
  show_command->add_option("--only", options->choice.only,
                           "series that match one of these globs (CELL or CELL:METRIC)");
  show_command->add_option("--metric", options->choice.metric, "this metric alone")
      ->check(CLI::IsMember(metric_names()));
  show_command->add_flag("--changes", options->changes,
                         "search changes of level in series without an alarm today; else once a week");
  show_command->footer(
      "Examples:\n"
      "  stepgauge history show\n"
      "  stepgauge history show nightly/history --only 'llama*' --metric throughput\n"
      "Exit codes: 0 quiet, 1 an alarm of a blocking metric that nobody acknowledged, 5 nothing to judge");
  show_command->callback([options, &program] { show(*options, program); });

  add_history_confirm(*command, program);

  auto* ack_command = add_action(*command, "ack", "acknowledge a change: its series start anew at that night", options);
  ack_command->add_option("folder", options->folder, "folder of the history")->capture_default_str();
  ack_command->add_option("--series", options->series, "glob on CELL or CELL:METRIC")->required();
  ack_command->add_option("--night", options->night, "run id of the first night of the new level")->required();
  ack_command->add_option("--reason", options->reason, "why it may stay")->required();
  ack_command->add_option("--by", options->by, "who says so")->required();
  ack_command->footer(
      "Example: stepgauge history ack results/history --series 'llama*:throughput' --night 20261130T020000Z-1a2b3c4d "
      "--reason 'checkpointing, see #12' --by ada");
  ack_command->callback([options] { acknowledge(*options); });

  auto* pin_command = add_action(*command, "pin", "hold later nights against this one, say a release", options);
  pin_command->add_option("run", options->run, "run id of a night")->required();
  pin_command->add_option("name", options->name, "of the release")->required();
  pin_command->add_option("--in", options->folder, "folder of the history")->capture_default_str();
  pin_command->footer("Example: stepgauge history pin 20261130T020000Z-1a2b3c4d v1.2");
  pin_command->callback([options] { pin(*options); });
}

}  // namespace stepgauge::cli
