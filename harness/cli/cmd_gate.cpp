// stepgauge gate SUITE --base X --head Y: interleaved pairs, screened and confirmed.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <unordered_map>

#include "cli/commands.hpp"
#include "cli/gate_arm.hpp"
#include "cli/gate_budget.hpp"
#include "cli/gate_folder.hpp"
#include "cli/gate_foresight.hpp"
#include "cli/gate_session.hpp"
#include "cli/new_run_info.hpp"
#include "cli/option_values.hpp"
#include "cli/result_output.hpp"
#include "cli/utc.hpp"
#include "config/config_error.hpp"
#include "report/gate_table.hpp"
#include "store/fingerprint.hpp"
#include "verdict/gate_json.hpp"

namespace stepgauge::cli {
namespace {

struct GateOptions {
  SuiteOptions suite;
  std::vector<std::string> base, head;
  std::string out, resume, budget;
  std::string baselines = "results/baselines";
  std::vector<std::size_t> pairs;
  std::optional<std::uint32_t> seed;
  bool json = false, quiet = false;
};

[[noreturn]] void refuse(const std::string& why) {
  throw config::ConfigError("", 0, 0, why);
}

/// --pairs fixes the design, and so does nothing else.
verdict::GatePolicy policy_of(const GateOptions& options) {
  verdict::GatePolicy out = options.pairs.empty() ? verdict::sequential_policy() : verdict::GatePolicy{};
  out.seed = options.seed ? *options.seed : std::random_device()();
  if (options.pairs.empty()) return out;
  const auto pairs = parse_pairs(options.pairs);
  out.screen_pairs = pairs.screen;
  out.confirm_pairs = pairs.confirm;
  return out;
}

Plan plan_of(const Arm& arm, const GateOptions& options, const GateSetup& setup, const Program& program) {
  return arm_plan(arm, options.suite, static_cast<int>(setup.policy.screen_pairs), program.name);
}

/// nullopt when there is no cell that can run in either arm; says so.
std::optional<GateFolder> new_gate(const GateOptions& options, const Program& program) {
  if (options.base.empty() || options.head.empty()) refuse("--base and --head are needed: what is to be compared");
  GateSetup setup;
  setup.base = options.base;
  setup.head = options.head;
  setup.policy = policy_of(options);
  const auto base = plan_of(parse_arm("base", options.base), options, setup, program);
  const auto head = plan_of(parse_arm("head", options.head), options, setup, program);
  setup.cells = match_arms(base, head);
  setup.cells_digest = cells_digest(options.suite.suite_path);
  warn_about_shared_memory(head);
  if (setup.cells.empty()) {
    tell_nothing_to_run(head.skipped, options.suite.suite_path);
    return std::nullopt;
  }
  const auto path =
      options.out.empty() ? fmt::format("runs/{}-gate-{}", base.suite.name, utc_now("%Y%m%d-%H%M%S")) : options.out;
  return GateFolder::create(path, new_run_info(base, options.suite.suite_path, program),
                            new_run_info(head, options.suite.suite_path, program), setup);
}

void require_same(bool given, bool same, const char* what, const std::string& folder) {
  if (given && !same) refuse(fmt::format("--resume {}: the gate began with another {}; leave it out", folder, what));
}

GateFolder resumed_gate(const GateOptions& options, const LauncherChoice& launcher, const machine::Machine& machine) {
  auto folder = GateFolder::resume(options.resume, options.suite.suite_path, launcher);
  const auto& setup = folder.setup();
  require_same(!options.base.empty(), options.base == setup.base, "--base", options.resume);
  require_same(!options.head.empty(), options.head == setup.head, "--head", options.resume);
  require_same(options.seed.has_value(), options.seed && *options.seed == setup.policy.seed, "--seed", options.resume);
  require_same(
      !options.pairs.empty(),
      setup.policy.looks.empty() && options.pairs == std::vector{setup.policy.screen_pairs, setup.policy.confirm_pairs},
      "--pairs", options.resume);
  const auto& before = folder.arm(true).info().fingerprint;
  const auto now = store::fingerprint(to_json(machine), before.contains("gpus"));
  if (const auto moved = store::moved_text(before, now); !moved.empty())
    refuse(fmt::format("--resume {}: the gate {}", options.resume, moved));
  return folder;
}

DurationGuess guess_of(const GateFolder& folder, const machine::Machine& machine, const std::string& baselines) {
  Plan plan;
  plan.suite.name = folder.arm(false).info().suite;
  plan.machine = machine;
  for (const bool head : {false, true}) {
    for (const auto& cell : folder.arm(head).info().cells) plan.cells.push_back(cell);
  }
  return DurationGuess(plan, baselines);
}

std::vector<verdict::FieldDifference> software_of(const GateFolder& folder) {
  const auto base = folder.arm(false).results(), head = folder.arm(true).results();
  const auto by_id = [](const ResultSet& results) {
    std::unordered_map<std::string, const CellResults*> out;
    for (const auto& cell : results.cells) out.emplace(cell.cell.id, &cell);
    return out;
  };
  const auto bases = by_id(base), heads = by_id(head);
  std::vector<std::pair<const CellResults*, const CellResults*>> matched;
  for (const auto& match : folder.setup().cells) {
    if (match.unmatched.empty()) matched.emplace_back(bases.at(match.base), heads.at(match.head));
  }
  return verdict::software_differences(base, head, matched);
}

verdict::GateContext context_of(const GateFolder& folder, const GateSessionResult& session, const GateBudget& budget) {
  const auto& info = folder.arm(true).info();
  verdict::GateContext out;
  out.suite = info.suite;
  out.suite_path = info.suite_path;
  out.folder = folder.path().string();
  out.created_at = info.created_at;
  out.base = folder.setup().base;
  out.head = folder.setup().head;
  out.policy = folder.setup().policy;
  out.attempts = folder.attempts();
  out.budget_s = budget.limit_s();
  out.elapsed_s = budget.elapsed_s();
  out.stopped = session.stopped;
  out.interrupted = session.interrupted;
  out.fingerprint = info.fingerprint;
  out.command = info.command;
  for (const auto& cell : info.skipped) {
    const auto& matches = folder.setup().cells;
    const bool one_arm = std::any_of(matches.begin(), matches.end(), [&](const GateSetup::Match& match) {
      return match.base == cell.id || match.head == cell.id;
    });
    if (!one_arm) out.skipped.push_back(cell);
  }
  out.software = software_of(folder);
  return out;
}

void gate(const GateOptions& options, Program& program) {
  const auto budget_s = parse_duration(options.budget, "budget");
  const auto launcher = options.suite.launcher.choose();
  const auto machine = machine::inspect();
  auto opened = options.resume.empty() ? new_gate(options, program) : resumed_gate(options, launcher, machine);
  if (!opened) {
    program.code = ExitCode::measurement_failed;
    return;
  }
  auto& folder = *opened;
  const auto guess = guess_of(folder, machine, options.baselines);
  GateBudget budget(budget_s, folder, guess);
  const auto policy = folder.setup().policy;
  const auto known = foresee(folder, policy, options.baselines);
  expect_new_pairs(known, folder, budget);
  if (!options.quiet) tell_plan(folder, budget, guess);
  check_budget(folder, budget, folder.attempts() > 0 ? "by the launches made so far" : guess.source(), options.quiet);
  if (known) tell_foresight(*known, folder, budget, options.quiet);
  const auto engine = launcher.make();
  const auto session =
      run_gate_session(folder, *engine, budget,
                       {chosen_devices(options.suite, machine), policy, options.suite.suite_path, options.quiet,
                        [&] { check_budget(folder, budget, "by the first pair of each cell", options.quiet); }});
  const auto verdict = verdict::judge_gate(session.cells, policy);
  const auto context = context_of(folder, session, budget);
  const auto document = to_json(verdict, context);
  write_text_file((folder.path() / "gate.json").string(), dump_pretty(document));
  if (options.json) {
    fmt::print("{}\n", dump_line(document));
  } else {
    fmt::print("{}", report::gate_table(verdict, context, terminal_style()));
  }
  program.code = verdict.exit_code;
  if (session.stopped.empty()) return;
  fmt::print(stderr, "stepgauge: {}; nothing is left running. Go on with: {} gate {} --resume {}\n", session.stopped,
             program.name, options.suite.suite_path, folder.path().string());
  if (session.interrupted) program.code = ExitCode::measurement_failed;
}

}  // namespace

void add_gate(Program& program) {
  auto options = std::make_shared<GateOptions>();
  auto* command = program.app.add_subcommand(
      "gate",
      "measure two arms of a suite side by side, pair by pair; screen, confirm, judge: the check before a merge");
  options->suite.add_to(*command);
  command->add_option("--base", options->base, std::string("what is there already: ") + arm_forms)
      ->allow_extra_args(false);
  command->add_option("--head", options->head, "the change, in the same forms")->allow_extra_args(false);
  command
      ->add_option(
          "--pairs", options->pairs,
          "N1,N2: a fixed design, N1 pairs of every cell and N2 new ones of a cell under suspicion (default: 5, "
          "and 3 to 30 new ones, as many as it takes)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--seed", options->seed, "of the order within pairs (default: drawn, printed and kept)");
  command->add_option("--budget", options->budget,
                      "time that the gate may take, e.g. 30m; what it leaves is inconclusive");
  auto* out = command->add_option("--out", options->out, "folder to make (default: runs/<suite>-gate-<time>)");
  command->add_option("--resume", options->resume, "go on with a gate in this folder; arms, seed and pairs are its own")
      ->excludes(out);
  command
      ->add_option("--baselines", options->baselines,
                   "folder of baselines and calibrations: durations and noise from there")
      ->capture_default_str();
  command->add_flag("--json", options->json, "JSON on standard output (schema gate), as in FOLDER/gate.json");
  command->add_flag("--quiet", options->quiet, "no progress on standard error");
  command->footer(
      "Examples:\n"
      "  stepgauge gate configs/smoke.yaml --base /builds/main --head /builds/change --budget 30m\n"
      "  stepgauge gate configs/smoke.yaml --base self --head env:OMP_NUM_THREADS=1\n"
      "  stepgauge gate configs/smoke.yaml --base self --head set:perturb.step_percent=10%   is a slowdown found "
      "here?\n"
      "  stepgauge gate configs/smoke.yaml --resume runs/smoke-gate-20261130-101500\n"
      "Exit codes: 0 nothing worse, 1 confirmed regression, 2 usage or config error, 3 measurement invalid or failed,\n"
      "            4 inconclusive, 5 a cell or value is in one arm only, or nothing was compared");
  command->callback([options, &program] { gate(*options, program); });
}

}  // namespace stepgauge::cli
