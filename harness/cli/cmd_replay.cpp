// stepgauge replay LOGS...: what the ranks' logs of collectives say, side by side.
#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.hpp"
#include "cli/replay_run.hpp"
#include "cli/result_output.hpp"
#include "replay/plan.hpp"
#include "replay/reader.hpp"
#include "replay/view.hpp"
#include "report/replay_table.hpp"
#include "report/text.hpp"
#include "store/output_folder.hpp"

namespace stepgauge::cli {
namespace {

struct ReplayOptions {
  std::vector<std::string> logs;
  std::string plan;
  replay::PatternSettings settings;
  std::size_t top = 10;
  bool json = false, run = false;
  ReplayRun run_options;
};

ExitCode run_again(const ReplayOptions& options, const Json& plan, Json& out, const Program& program) {
  const auto again = run_plan(plan, options.run_options, program.name);
  out["folder"] = again.folder.string();
  if (!again.problem.empty()) {
    fmt::print(stderr, "stepgauge: the collectives could not be made again: {} (see {})\n",
               report::printable(again.problem), again.folder.string());
    return ExitCode::measurement_failed;
  }
  out["replay"] = again.replay;
  if (!options.json) fmt::print("{}", report::replayed_table(again.replay, options.top, terminal_style()));
  return ExitCode::nothing_worse;
}

ExitCode show(const ReplayOptions& options, const Program& program) {
  const auto log = replay::read_logs(options.logs);
  const auto view = replay::view(options.logs, log, options.settings, options.top);
  const auto plan = options.plan.empty() && !options.run ? Json() : replay::plan_of(log);
  if (!options.plan.empty()) store::write_output_file(options.plan, dump_line(plan) + "\n");
  if (!options.json) fmt::print("{}", report::replay_table(view, options.top, terminal_style()));
  auto out = replay::to_json(view);
  auto code = view.healthy() ? ExitCode::nothing_worse : ExitCode::regression;
  if (options.run) {
    std::fflush(stdout);
    if (const auto again = run_again(options, plan, out, program); again != ExitCode::nothing_worse) code = again;
  }
  if (options.json) fmt::print("{}\n", dump_line(out));
  return code;
}

}  // namespace

void add_replay(Program& program) {
  auto options = std::make_shared<ReplayOptions>();
  auto* command = program.app.add_subcommand(
      "replay",
      "ranks side by side from their logs of collectives: who is silent, late, slow, or calls something else");
  command
      ->add_option(
          "logs", options->logs,
          "files or folders: rank<N>.collectives.jsonl, flight recorder dumps of PyTorch (JSON or pickle), text "
          "of TORCH_DISTRIBUTED_DEBUG=DETAIL or of NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=COLL")
      ->required();
  command->add_option("--skew-ms", options->settings.skew_ms, "a rank that comes later than this is named")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command->add_option("--top", options->top, "patterns and slowest collectives that are shown")->capture_default_str();
  command->add_option("--write-plan", options->plan, "write the collectives in order to this file, to run them again");
  auto* run = command->add_flag("--run", options->run,
                                "make the collectives again on this machine and compare their times with the logs'");
  auto& again = options->run_options;
  command->add_option("--device", again.device, "cuda or cpu (default: cuda where there is a GPU for each rank)")
      ->check(CLI::IsMember({"cuda", "cpu"}))
      ->needs(run);
  command->add_option("--out", again.out, "folder to make for the launch (default: runs/replay-<time>)")->needs(run);
  command->add_option("--worker", again.worker, "command of the worker that replaces the built-in one")->needs(run);
  command->add_option("--timeout", again.timeout_s, "seconds that the launch may take")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  again.launcher.add_to(*command);
  command->add_flag("--json", options->json, "JSON on standard output, with every rank and pattern");
  command->footer(
      "Examples:\n"
      "  stepgauge replay runs/a/launches/LAUNCH\n"
      "  stepgauge replay nccl_trace_rank_* --skew-ms 50\n"
      "  stepgauge replay runs/a/launches/LAUNCH --run --device cpu\n"
      "Exit codes: 0 no pattern found, 1 a pattern was found, 2 usage, 3 no collective in the logs, or they could not "
      "be made again");
  command->callback([options, &program] { program.code = show(*options, program); });
}

}  // namespace stepgauge::cli
