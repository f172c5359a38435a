// stepgauge calibrate SUITE: an A/A session on this machine, what noise it shows, and what a gate could see here.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/calibration_source.hpp"
#include "cli/commands.hpp"
#include "cli/duration_guess.hpp"
#include "cli/new_run_info.hpp"
#include "cli/option_values.hpp"
#include "cli/result_output.hpp"
#include "cli/run_session.hpp"
#include "cli/utc.hpp"
#include "config/config_error.hpp"
#include "report/calibration_table.hpp"
#include "report/text.hpp"
#include "store/baseline.hpp"
#include "store/calibration_file.hpp"
#include "store/fingerprint.hpp"
#include "store/history.hpp"
#include "verdict/calibration_json.hpp"

namespace stepgauge::cli {
namespace {

constexpr int default_launches = 12;

struct CalibrateOptions {
  SuiteOptions suite;
  std::string out, resume, budget;
  std::string baselines = "results/baselines";
  bool json = false, quiet = false;
};

/// Cells that are slowed on purpose have the noise of another program.
void leave_out_perturbed(Plan& plan) {
  const auto perturbed =
      std::stable_partition(plan.cells.begin(), plan.cells.end(), [](const Cell& cell) { return !is_perturbed(cell); });
  for (auto cell = perturbed; cell != plan.cells.end(); ++cell)
    plan.skipped.push_back({cell->id, cell->hash, Status::skipped, "perturbed on purpose: not calibrated"});
  plan.cells.erase(perturbed, plan.cells.end());
}

store::RunFolder open_folder(const Plan& plan, const CalibrateOptions& options, const Program& program) {
  if (options.resume.empty()) {
    const auto path = options.out.empty()
                          ? fmt::format("runs/{}-calibrate-{}", plan.suite.name, utc_now("%Y%m%d-%H%M%S"))
                          : options.out;
    return store::RunFolder::create(path, new_run_info(plan, options.suite.suite_path, program));
  }
  auto folder = resume_run(options.resume, options.suite.suite_path, plan.launcher);
  const auto now = fingerprint_of(folder.info().cells, plan.machine);
  if (const auto moved = store::moved_text(folder.info().fingerprint, now); !moved.empty())
    throw config::ConfigError("", 0, 0, fmt::format("--resume {}: the session {}", options.resume, moved));
  return folder;
}

/// Seconds of the warm-ups that the folder lacks.
double warm_up_seconds(const store::RunFolder& folder, const DurationGuess& guess) {
  double out = 0;
  for (const auto& cell : folder.info().cells) out += folder.begun(cell.id) ? 0 : guess.launch_seconds(cell);
  return out;
}

/// Seconds of the launches that the folder lacks, warm-ups too.
double seconds_ahead(const store::RunFolder& folder, const DurationGuess& guess) {
  double out = warm_up_seconds(folder, guess);
  for (const auto& cell : folder.info().cells) {
    for (int launch = 0; launch < cell.launches; ++launch)
      out += folder.completed(cell.id, launch) ? 0 : guess.launch_seconds(cell);
  }
  return out;
}

void tell_plan(const store::RunFolder& folder, const DurationGuess& guess, const std::optional<double>& budget_s,
               bool quiet) {
  const double ahead_s = seconds_ahead(folder, guess);
  if (!quiet) {
    fmt::print(stderr, "stepgauge: {} cells, a warm-up and {} launches of each: about {} ({})\n",
               folder.info().cells.size(), folder.info().cells.front().launches, duration_text(ahead_s),
               guess.source());
  }
  if (!budget_s || ahead_s <= *budget_s) return;
  double round_s = 0;
  for (const auto& cell : folder.info().cells) round_s += guess.launch_seconds(cell);
  const double left_s = std::max(0.0, *budget_s - warm_up_seconds(folder, guess));
  fmt::print(
      stderr,
      "stepgauge: the budget of {} does not suffice ({}): it is enough for about {:.0f} launches of each cell, and "
      "a cell with fewer than {} is not calibrated; --budget {:.0f}m would do, or --resume with the rest later\n",
      duration_text(*budget_s), guess.source(), std::floor(left_s / round_s), verdict::least_launches,
      std::ceil(ahead_s / 60));
}

/// What of this session is not as it should be; the exit code says so too.
ExitCode judge_session(const CalibrationSession& session, verdict::Calibration& calibration) {
  auto code = ExitCode::nothing_worse;
  for (const auto& cell : session.cells) {
    std::size_t made = 0;
    std::string text;
    for (const auto& [status, count] : cell.statuses) {
      made += count;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, status);
    }
    const bool enough = cell.launches.size() >= verdict::least_launches;
    if (enough && cell.launches.size() == made) continue;
    code = ExitCode::measurement_failed;
    calibration.notes.push_back(fmt::format(
        "{}: {} in this session{}; {} has the logs", cell.id, text.empty() ? "no launch" : text,
        enough ? "" : fmt::format(" (at least {} ok are needed)", verdict::least_launches), session.source));
  }
  return code;
}

void conclude(const store::RunFolder& folder, const std::string& stopped, const CalibrateOptions& options,
              Program& program) {
  const auto& info = folder.info();
  const auto path = store::calibration_path(info.fingerprint, info.suite, options.baselines);
  const auto session = calibration_session(folder, store::current_commit(), utc_now());
  const bool any = std::any_of(session.cells.begin(), session.cells.end(),
                               [](const CalibrationCell& cell) { return !cell.launches.empty(); });
  const bool added = any && store::append_calibration(path, session);
  verdict::CalibrationContext context;
  auto calibration = verdict::judge_calibration(
      info.cells, store::find_calibrations(info.fingerprint, info.suite, options.baselines), context.wish);
  context.exit_code = judge_session(session, calibration);
  context.suite = info.suite;
  context.suite_path = info.suite_path;
  context.file = path.string();
  context.folder = folder.path().string();
  context.stopped = stopped;
  context.fingerprint = info.fingerprint;
  context.skipped = info.skipped;
  if (options.json) {
    fmt::print("{}\n", dump_line(to_json(calibration, context)));
  } else {
    fmt::print("{}", report::calibration_table(calibration, context, terminal_style()));
  }
  program.code = context.exit_code;
  if (!any) {
    fmt::print(stderr, "stepgauge: no launch is ok, so nothing was written; {} has the logs\n", context.folder);
  } else if (!options.quiet) {
    fmt::print(stderr, "stepgauge: {} {}\n", added ? "added the session to" : "the session is already in",
               context.file);
  }
}

void calibrate(CalibrateOptions options, Program& program) {
  const auto budget_s = parse_duration(options.budget, "budget");
  if (options.suite.launches == 0) options.suite.launches = default_launches;
  auto plan = make_plan(options.suite, program.name);
  leave_out_perturbed(plan);
  warn_about_shared_memory(plan);
  if (plan.cells.empty()) {
    tell_nothing_to_run(plan.skipped, options.suite.suite_path);
    program.code = ExitCode::measurement_failed;
    return;
  }
  auto folder = open_folder(plan, options, program);
  if (folder.info().fingerprint.empty()) {
    throw store::BaselineRefused("this machine does not say what it is (no CPU model), so its noise cannot be kept");
  }
  const DurationGuess guess(plan, options.baselines);
  tell_plan(folder, guess, budget_s, options.quiet);
  const auto launcher = plan.launcher.make();
  const auto session = run_session(folder, *launcher, chosen_devices(options.suite, plan.machine), {}, options.quiet,
                                   seconds_ahead(folder, guess), budget_s, /*warm_up=*/true);
  if (!session.interrupted) conclude(folder, session.stopped, options, program);
  if (!session.interrupted && session.stopped.empty()) return;
  fmt::print(stderr, "stepgauge: {}; nothing is left running. Go on with: {} calibrate {} --resume {}\n",
             session.interrupted ? "interrupted" : session.stopped, program.name, options.suite.suite_path,
             folder.path().string());
  if (session.interrupted) program.code = ExitCode::measurement_failed;
}

}  // namespace

void add_calibrate(Program& program) {
  auto options = std::make_shared<CalibrateOptions>();
  auto* command = program.app.add_subcommand(
      "calibrate", "measure a suite against itself: the noise of this machine, and what a gate could see here");
  options->suite.add_to(*command);
  command
      ->add_option(
          "--launches", options->suite.launches,
          fmt::format("launches per cell, {} at least (default: {})", verdict::least_launches, default_launches))
      ->check(CLI::Range(static_cast<int>(verdict::least_launches), 100000));
  command->add_option("--budget", options->budget, "time that it may take, e.g. 30m; --resume makes the rest");
  auto* out = command->add_option("--out", options->out, "run folder to make (default: runs/<suite>-calibrate-<time>)");
  command
      ->add_option("--resume", options->resume,
                   "go on with a session in this folder; an ordinary run of the suite will do as well")
      ->excludes(out);
  command->add_option("--baselines", options->baselines, "folder of the baselines; the session goes beside them")
      ->capture_default_str();
  command->add_flag("--json", options->json, "JSON on standard output (schema plan)");
  command->add_flag("--quiet", options->quiet, "no progress on standard error");
  command->footer(
      "Examples:\n"
      "  stepgauge calibrate configs/smoke.yaml\n"
      "  stepgauge calibrate configs/pr_gate.yaml --launches 40 --budget 2h --only 'llama*'\n"
      "Exit codes: 0 calibrated, 2 usage or config error, 3 a cell could not be measured, or launches failed (the "
      "other\n"
      "            cells are kept)");
  command->callback([options, &program] { calibrate(*options, program); });
}

}  // namespace stepgauge::cli
