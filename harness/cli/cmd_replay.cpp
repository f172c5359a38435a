// stepgauge replay LOGS...: what the ranks' logs of collectives say, side by side.
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/result_output.hpp"
#include "replay/plan.hpp"
#include "replay/reader.hpp"
#include "replay/view.hpp"
#include "report/replay_table.hpp"

namespace stepgauge::cli {
namespace {

struct ReplayOptions {
  std::vector<std::string> logs;
  std::string plan;
  replay::PatternSettings settings;
  std::size_t top = 10;
  bool json = false;
};

ExitCode show(const ReplayOptions& options) {
  const auto log = replay::read_logs(options.logs);
  const auto view = replay::view(options.logs, log, options.settings, options.top);
  if (!options.plan.empty()) write_text_file(options.plan, dump_line(replay::plan_of(log)) + "\n");
  fmt::print("{}", options.json ? dump_line(replay::to_json(view)) + "\n"
                                : report::replay_table(view, options.top, terminal_style()));
  return view.healthy() ? ExitCode::nothing_worse : ExitCode::regression;
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
  command->add_flag("--json", options->json, "JSON on standard output, with every rank and pattern");
  command->footer(
      "Examples:\n"
      "  stepgauge replay runs/a/launches/LAUNCH\n"
      "  stepgauge replay nccl_trace_rank_* --skew-ms 50\n"
      "Exit codes: 0 no pattern found, 1 a pattern was found, 2 usage, 3 no collective in the logs");
  command->callback([options, &program] { program.code = show(*options); });
}

}  // namespace stepgauge::cli
