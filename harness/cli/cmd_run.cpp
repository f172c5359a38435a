// stepgauge run SUITE: launches, records, table.
#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.hpp"
#include "cli/duration_guess.hpp"
#include "cli/result_output.hpp"
#include "cli/run_session.hpp"
#include "cli/suite_options.hpp"
#include "cli/utc.hpp"
#include "contract/digest.hpp"
#include "machine/variables.hpp"
#include "report/text.hpp"
#include "store/fingerprint.hpp"

namespace stepgauge::cli {
namespace {

struct RunOptions {
  SuiteOptions suite;
  std::string out, resume;
  bool json = false, quiet = false;
  bool trace = false, memory_history = false;
};

store::RunInfo run_info(const Plan& plan, const RunOptions& options, const Program& program) {
  store::RunInfo info;
  info.suite = plan.suite.name;
  info.suite_path = options.suite.suite_path;
  info.suite_hash = sha256_hex(read_text_file(options.suite.suite_path));
  info.command = program.arguments;
  info.created_at = utc_now();
  info.environment = to_json(plan.machine);
  info.environment["variables"] = machine::recorded_variables();
  bool uses_gpu = false;
  for (const auto& cell : plan.cells) uses_gpu = uses_gpu || cell.device == "cuda";
  info.fingerprint = store::fingerprint(info.environment, uses_gpu);
  info.cells = plan.cells;
  info.skipped = plan.skipped;
  info.workers = plan.commands;
  info.launcher = plan.launcher.json();
  if (plan.shard.count > 1) info.shard = {{"index", plan.shard.index}, {"count", plan.shard.count}};
  return info;
}

/// Shared memory is what NCCL and gloo fail on first in a container.
void warn_about_shared_memory(const Plan& plan) {
  if (!plan.machine.shm || plan.machine.shm->free_bytes >= (std::uint64_t{64} << 20)) return;
  for (const auto& cell : plan.cells) {
    if (cell.ddp.ranks < 2 || cell.device != "cuda") continue;
    fmt::print(
        stderr,
        "stepgauge: /dev/shm has {} MiB free; NCCL's shared-memory transport may fail (--shm-size in a container)\n",
        plan.machine.shm->free_bytes >> 20);
    return;
  }
}

store::RunFolder open_folder(const Plan& plan, const RunOptions& options, const Program& program) {
  const auto info = run_info(plan, options, program);
  if (options.resume.empty()) {
    const auto path =
        options.out.empty() ? fmt::format("runs/{}-{}", plan.suite.name, utc_now("%Y%m%d-%H%M%S")) : options.out;
    return store::RunFolder::create(path, info);
  }
  auto folder = store::RunFolder::resume(options.resume);
  if (folder.info().suite_hash != info.suite_hash) {
    throw config::ConfigError(
        "", 0, 0,
        fmt::format("{}: {} has changed since the run began; start a new run", options.resume, info.suite_path));
  }
  const auto& before = folder.info().launcher;
  if (!before.is_null() && before.at("name") != info.launcher.at("name")) {
    throw config::ConfigError("", 0, 0,
                              fmt::format("{}: the run began with --launcher {}; go on with the same", options.resume,
                                          before.at("name").get<std::string>()));
  }
  if (folder.torn_line())
    fmt::print(stderr, "stepgauge: a torn last line of the journal was set aside (records.jsonl.torn)\n");
  return folder;
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
    fmt::print(stderr, "stepgauge: no cell of {} can run here:\n", options.suite.suite_path);
    for (const auto& cell : plan.skipped)
      fmt::print(stderr, "  {}: {}: {}\n", report::printable(cell.id), to_string(cell.status),
                 report::printable(cell.reason));
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
