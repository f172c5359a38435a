// stepgauge plan SUITE: pairs and minutes that a gate would take here, from the stored calibration. Nothing is run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/calibration_source.hpp"
#include "cli/commands.hpp"
#include "cli/option_values.hpp"
#include "cli/result_output.hpp"
#include "config/config_error.hpp"
#include "contract/suggest.hpp"
#include "report/calibration_table.hpp"
#include "store/baseline.hpp"
#include "store/calibration_file.hpp"
#include "store/fingerprint.hpp"
#include "verdict/calibration_json.hpp"

namespace stepgauge::cli {
namespace {

struct PlanOptions {
  SuiteOptions suite;
  std::vector<std::string> tolerances;
  std::vector<std::size_t> pairs;
  verdict::GateWish wish;
  std::string baselines = "results/baselines";
  bool json = false;
};

/// "2%" for every ratio metric, "throughput=2%" for one.
void add_tolerance(const std::string& text, verdict::GateWish& wish) {
  const auto equals = text.find('=');
  if (equals == std::string::npos) {
    wish.tolerance = parse_tolerance(text, "tolerance");
    return;
  }
  const auto name = text.substr(0, equals);
  if (find_metric(name) == nullptr) {
    throw config::ConfigError(
        "", 0, 0, fmt::format("--tolerance {}: no metric \"{}\"{}", text, name, suggestion(name, metric_names())));
  }
  wish.tolerances[name] = parse_tolerance(text.substr(equals + 1), "tolerance");
}

std::string missing_text(const Plan& plan, const Json& fingerprint, const PlanOptions& options) {
  auto out =
      fmt::format("no calibration of suite {} on this machine ({}) under {}; `stepgauge calibrate {}` makes one",
                  plan.suite.name, store::fingerprint_slug(fingerprint), options.baselines, options.suite.suite_path);
  const auto others = store::calibrated_machines(plan.suite.name, options.baselines);
  if (!others.empty()) {
    out += fmt::format(" (there is one of {}: the noise of another machine says nothing of this one's)",
                       fmt::join(others, ", "));
  }
  return out;
}

/// The first that holds: 5 a cell without calibration, 3 a row that was not measured, 4 one out of reach.
ExitCode exit_code_of(const verdict::Calibration& calibration, const verdict::GateWish& wish) {
  const auto never = [](const verdict::CalibrationCellResult& cell) { return cell.statuses.empty(); };
  if (std::any_of(calibration.cells.begin(), calibration.cells.end(), never)) return ExitCode::not_comparable;
  if (calibration.rows.empty()) return ExitCode::not_comparable;
  const auto unmeasured = [](const verdict::CalibrationCellResult& cell) { return !cell.measured; };
  if (calibration.not_measured > 0 || std::any_of(calibration.cells.begin(), calibration.cells.end(), unmeasured))
    return ExitCode::measurement_failed;
  const auto out_of_reach = [&](const verdict::CalibrationRow& row) { return row.blocking && !is_found(row, wish); };
  return std::any_of(calibration.rows.begin(), calibration.rows.end(), out_of_reach) ? ExitCode::inconclusive
                                                                                     : ExitCode::nothing_worse;
}

void plan_gate(PlanOptions options, Program& program) {
  for (const auto& text : options.tolerances) add_tolerance(text, options.wish);
  const auto pairs = parse_pairs(options.pairs);
  options.wish.gate.screen_pairs = pairs.screen;
  options.wish.gate.confirm_pairs = pairs.confirm;
  options.wish.fixed_pairs = !options.pairs.empty();
  const auto plan = make_plan(options.suite, program.name);
  if (plan.cells.empty()) {
    tell_nothing_to_run(plan.skipped, options.suite.suite_path);
    program.code = ExitCode::measurement_failed;
    return;
  }
  verdict::CalibrationContext context;
  context.suite = plan.suite.name;
  context.suite_path = options.suite.suite_path;
  context.fingerprint = fingerprint_of(plan.cells, plan.machine);
  context.wish = options.wish;
  context.skipped = plan.skipped;
  const auto sessions = store::find_calibrations(context.fingerprint, context.suite, options.baselines);
  if (sessions.empty()) throw store::BaselineMissing(missing_text(plan, context.fingerprint, options));
  context.file = store::calibration_path(context.fingerprint, context.suite, options.baselines).string();
  const auto calibration = verdict::judge_calibration(plan.cells, sessions, context.wish);
  context.exit_code = exit_code_of(calibration, context.wish);
  if (options.json) {
    fmt::print("{}\n", dump_line(to_json(calibration, context)));
  } else {
    fmt::print("{}", report::plan_table(calibration, context, terminal_style()));
  }
  program.code = context.exit_code;
}

}  // namespace

void add_plan(Program& program) {
  auto options = std::make_shared<PlanOptions>();
  options->wish.power = 0.9;
  auto* command = program.app.add_subcommand(
      "plan", "before anything runs: pairs and minutes that a gate of the suite takes here, and what it could not see");
  options->suite.add_to(*command);
  command
      ->add_option("--tolerance", options->tolerances,
                   "2% in place of the tolerance of every ratio metric, or METRIC=2% for one")
      ->allow_extra_args(false);
  command->add_option("--power", options->wish.power, "chance with which a change of the tolerance is to be found")
      ->check(CLI::Range(0.5, 0.999))
      ->capture_default_str();
  command->add_option("--pairs", options->pairs, "N1,N2: what a gate of so many pairs would find (default: 5,15)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--suspected", options->wish.family,
                   "rows under suspicion at once: Holm divides the error rate of 0.05 by it")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--baselines", options->baselines, "folder of the baselines and calibrations")
      ->capture_default_str();
  command->add_flag("--json", options->json, "JSON on standard output (schema plan)");
  command->footer(
      "Examples:\n"
      "  stepgauge plan configs/smoke.yaml --tolerance 2%\n"
      "  stepgauge plan configs/smoke.yaml --pairs 5,30 --suspected 4\n"
      "Exit codes: 0 every row is within reach, 2 usage or config error, 3 a row was not measured, 4 a row is out of "
      "reach,\n"
      "            5 no calibration of a cell on this machine");
  command->callback([options, &program] { plan_gate(*options, program); });
}

}  // namespace stepgauge::cli
