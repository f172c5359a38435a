// stepgauge run SUITE: launches, records, table.
#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.hpp"
#include "cli/duration_guess.hpp"
#include "cli/new_run_info.hpp"
#include "cli/result_output.hpp"
#include "cli/run_session.hpp"
#include "cli/suite_options.hpp"
#include "cli/utc.hpp"

namespace stepgauge::cli {
namespace {

struct RunOptions {
  SuiteOptions suite;
  std::string out, resume;
  bool json = false, quiet = false;
  bool trace = false, memory_history = false;
};

store::RunFolder open_folder(const Plan& plan, const RunOptions& options, const Program& program) {
  if (!options.resume.empty()) return resume_run(options.resume, options.suite.suite_path, plan.launcher);
  const auto path =
      options.out.empty() ? fmt::format("runs/{}-{}", plan.suite.name, utc_now("%Y%m%d-%H%M%S")) : options.out;
  return store::RunFolder::create(path, new_run_info(plan, options.suite.suite_path, program));
}

ExitCode exit_code(const ResultSet& results) {
  std::size_t ok = 0, failed = 0;
  for (const auto& cell : results.cells) {
    for (const auto& launch : cell.launches) ++(launch.status == Status::ok ? ok : failed);
  }
  return ok == 0 || failed > 0 ? ExitCode::measurement_failed : ExitCode::nothing_worse;
}

void run(const RunOptions& options, Program& program) {
  auto plan = make_plan(options.suite, program.name);
  for (auto& cell : plan.cells) cell.measure.keep_trace = cell.measure.keep_trace || options.trace;
  warn_about_shared_memory(plan);
  if (plan.cells.empty()) {
    tell_nothing_to_run(plan.skipped, options.suite.suite_path);
    program.code = ExitCode::measurement_failed;
    return;
  }
  auto folder = open_folder(plan, options, program);
  const DurationGuess guess(plan);
  const auto launcher = plan.launcher.make();
  const auto session = run_session(folder, *launcher, chosen_devices(options.suite, plan.machine),
                                   {options.memory_history}, options.quiet, guess.total_minutes(plan.cells) * 60);
  const auto results = folder.results();
  show_results(results, folder.path(), options.json);
  program.code = exit_code(results);
  if (session.interrupted) {
    fmt::print(stderr, "stepgauge: interrupted; nothing is left running. Go on with: {} run {} --resume {}\n",
               program.name, options.suite.suite_path, folder.path().string());
    program.code = ExitCode::measurement_failed;
  }
}

}  // namespace

void add_run(Program& program) {
  auto options = std::make_shared<RunOptions>();
  auto* command =
      program.app.add_subcommand("run", "run a suite: every cell in fresh processes, records in a run folder");
  options->suite.add_to(*command);
  options->suite.add_launches_to(*command);
  auto* out = command->add_option("--out", options->out, "run folder to make (default: runs/<suite>-<time>)");
  command->add_option("--resume", options->resume, "go on with an interrupted run in this folder")->excludes(out);
  command->add_flag("--trace", options->trace, "keep a Perfetto trace of every launch in its folder");
  command->add_flag("--memory-history", options->memory_history,
                    "keep the allocator's history of every rank (open it with PyTorch's memory viewer)");
  command->add_flag("--json", options->json, "JSON on standard output");
  command->add_flag("--quiet", options->quiet, "no progress on standard error");
  command->footer(
      "Examples:\n"
      "  stepgauge run configs/smoke.yaml --out runs/a --only 'resnet18*'\n"
      "  stepgauge run configs/smoke.yaml --trace\n"
      "  stepgauge run configs/smoke.yaml --worker 'python3 scripts/peers/peer.py'\n"
      "  stepgauge run configs/nightly.yaml --launcher mpirun --hosts n1,n2\n"
      "  stepgauge run configs/nightly.yaml --launcher srun --shard $SLURM_ARRAY_TASK_ID/8 --out "
      "runs/part$SLURM_ARRAY_TASK_ID\n"
      "Exit codes: 0 every launch is ok, 2 usage or config error, 3 a launch failed or nothing was measured");
  command->callback([options, &program] { run(*options, program); });
}

}  // namespace stepgauge::cli
