// stepgauge bisect SUITE --cell ID --metric M: the commit, or the settings, that made a metric worse.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>

#include "cli/bisect_arms.hpp"
#include "cli/bisect_session.hpp"
#include "cli/commands.hpp"
#include "cli/commit_builds.hpp"
#include "cli/result_output.hpp"
#include "cli/utc.hpp"
#include "config/reader.hpp"
#include "contract/suggest.hpp"
#include "report/bisect_table.hpp"
#include "store/output_folder.hpp"
#include "store/run_folder.hpp"

namespace stepgauge::cli {
namespace {

struct BisectCommand {
  SuiteOptions suite;
  std::string cell, metric, repository, out, resume, tolerance;
  std::vector<std::string> good, bad, build;
  std::vector<std::size_t> pairs;
  std::optional<std::uint32_t> seed;
  bool json = false, quiet = false;
};

[[noreturn]] void refuse(const std::string& why) {
  throw config::ConfigError("", 0, 0, why);
}

void check_metric(const std::string& name) {
  if (name == verdict::launches_row) return;
  std::vector<std::string> known{verdict::launches_row};
  for (const auto& metric : metric_catalogue()) {
    if (metric.better != Better::neither) known.push_back(metric.name);
  }
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  refuse(fmt::format("--metric: no metric \"{}\" that has a better and a worse{}", name, suggestion(name, known)));
}

std::optional<double> tolerance_of(const BisectCommand& options) {
  if (options.tolerance.empty()) return std::nullopt;
  config::Node node;
  node.kind = config::Node::Kind::plain;
  node.text = options.tolerance;
  node.mark = {std::make_shared<const std::string>("--tolerance"), 1, 1};
  const auto* metric = find_metric(options.metric);
  if (metric == nullptr) refuse("--tolerance: launches have none");
  const bool points = metric->scale == Scale::points;
  const double value =
      points ? config::read_number(node, "tolerance", 0, 1e9) : config::read_fraction(node, "tolerance");
  if (value <= 0) refuse("--tolerance: expected more than 0");
  return value;
}

/// Exactly one cell of the suite; its id is what is searched in from now on.
std::string chosen_cell(const BisectCommand& options) {
  const auto suite = config::load_suite(options.suite.suite_path);
  const auto cells = config::select(suite.cells, {{options.cell}, {}, "--cell"});
  if (cells.size() > 1)
    refuse(fmt::format("--cell {}: matches {} cells, e.g. {} and {}; exactly one is needed", options.cell, cells.size(),
                       cells[0].id, cells[1].id));
  return cells.front().id;
}

void set_pairs(const BisectCommand& options, verdict::BisectPolicy& policy) {
  if (options.pairs.empty()) return;
  const bool good = options.pairs.size() == 2 && options.pairs[0] >= 5 && options.pairs[1] >= options.pairs[0];
  if (!good)
    refuse("--pairs: expected N,M: N pairs at each midpoint (5 at least), doubled up to M while the answer is unknown");
  policy.first_pairs = options.pairs[0];
  policy.most_pairs = options.pairs[1];
}

verdict::Bisect bisect_of(const BisectCommand& options) {
  if (options.good.empty() || options.bad.empty()) refuse("--good and --bad are needed: the two ends");
  check_metric(options.metric);
  verdict::Bisect out;
  const auto suite = config::load_suite(options.suite.suite_path);
  out.suite = suite.name;
  out.suite_path = options.suite.suite_path;
  out.cell = chosen_cell(options);
  out.metric = options.metric;
  out.over_commits = !options.repository.empty();
  out.good = options.good;
  out.bad = options.bad;
  out.repository = options.repository;
  out.build = options.build;
  out.policy.tolerance = tolerance_of(options);
  set_pairs(options, out.policy);
  out.policy.seed = options.seed ? *options.seed : std::random_device()();
  out.created_at = utc_now();
  return out;
}

/// What makes two searches the same question.
Json question_json(const verdict::Bisect& bisect) {
  auto out = to_json(bisect);
  for (const char* key :
       {"seed", "folder", "created_at", "direction", "steps", "outcome", "sentence", "suspects", "exit_code"})
    out.erase(key);
  return out;
}

/// A search in this folder before: its seed and time are kept, and it must have asked the same.
void take_up(const BisectCommand& options, verdict::Bisect& bisect) {
  const auto file = (std::filesystem::path(options.resume) / "bisect.json").string();
  const auto before = parse_json(read_text_file(file), file);
  if (require<std::string>(before, "schema", file) != "stepgauge.bisect") throw ContractError(file + ": no bisection");
  const auto asked = question_json(bisect);
  for (const auto& [key, value] : asked.items()) {
    if (!before.contains(key) || before.at(key) != value)
      refuse(fmt::format("--resume {}: the search began with another {} ({}, now {}); start a new one", options.resume,
                         key, before.contains(key) ? before.at(key).dump() : "none", value.dump()));
  }
  const auto seed = require<std::uint64_t>(before, "seed", file);
  if (options.seed && *options.seed != seed)
    refuse(fmt::format("--resume {}: the search began with seed {}", options.resume, seed));
  bisect.policy.seed = seed;
  bisect.created_at = require<std::string>(before, "created_at", file);
}

void open_folder(const BisectCommand& options, verdict::Bisect& bisect) {
  if (!options.resume.empty()) {
    bisect.folder = options.resume;
    return take_up(options, bisect);
  }
  bisect.folder =
      options.out.empty() ? fmt::format("runs/{}-bisect-{}", bisect.suite, utc_now("%Y%m%d-%H%M%S")) : options.out;
  const std::filesystem::path folder(bisect.folder);
  if (std::filesystem::exists(folder / "bisect.json") || std::filesystem::exists(folder / "run.json"))
    throw store::RunConflict(bisect.folder + " holds a search or a run already; --resume goes on with a search");
  store::make_output_folder(folder);
}

void search_commits(const BisectCommand& options, const SuiteOptions& suite, BuildCommands commands,
                    verdict::Bisect& bisect, Program& program) {
  CommitBuilds builds(options.repository, bisect.folder, std::move(commands));
  const auto built = [&](std::size_t index, const char* name) {
    auto done = builds.build(bisect.commits[index]);
    if (!done.problem.empty()) return Midpoint{std::nullopt, std::move(done.problem)};
    return Midpoint{parse_arm(name, {done.path}), ""};
  };
  if (!options.quiet)
    fmt::print(stderr, "stepgauge: {} commits from good to bad; seed {}\n", bisect.commits.size() - 1,
               bisect.policy.seed);
  const auto good = built(0, "good");
  if (!good.arm) {
    bisect.outcome = verdict::BisectOutcome::not_measurable;
    bisect.problem = "the good end cannot be built: " + good.problem;
    write_text_file((std::filesystem::path(bisect.folder) / "bisect.json").string(), dump_pretty(to_json(bisect)));
    return;
  }
  BisectSession(suite, bisect, {*good.arm, [&](std::size_t index) { return built(index, "bad"); }, {}}, options.quiet,
                program)
      .run();
}

void search_settings(const BisectCommand& options, const SuiteOptions& suite, const Arm& good,
                     const std::vector<ArmDifference>& differences, verdict::Bisect& bisect, Program& program) {
  if (!options.quiet)
    fmt::print(stderr, "stepgauge: {} settings differ between good and bad; seed {}\n", differences.size(),
               bisect.policy.seed);
  const auto between = [&](const verdict::SettingSubset& subset) {
    return Midpoint{arm_between(good, differences, subset), ""};
  };
  BisectSession(suite, bisect, {good, {}, between}, options.quiet, program).run();
}

void bisect(const BisectCommand& options, Program& program) {
  auto search = bisect_of(options);
  std::optional<Arm> good;
  std::vector<ArmDifference> differences;
  BuildCommands commands;
  auto suite = options.suite;
  suite.selection.only = {search.cell};
  if (search.over_commits) {
    if (options.good.size() != 1 || options.bad.size() != 1) refuse("--good and --bad: one revision each, with --repo");
    if (options.build.empty()) refuse("--repo needs --build: the command that builds a commit's worker");
    commands = build_commands(options.build);
    search.commits = commits_between(options.repository, options.good[0], options.bad[0]);
  } else {
    if (!options.build.empty()) refuse("--build needs --repo: whose commits are to be built");
    good = parse_arm("good", options.good);
    const auto bad = parse_arm("bad", options.bad);
    differences = arm_differences(*good, bad);
    arm_plan(*good, suite, 1, program.name);  // refuses what cannot be set
    arm_plan(bad, suite, 1, program.name);
    for (const auto& item : differences) search.differences.push_back(item.text());
  }
  open_folder(options, search);
  if (search.over_commits) {
    search_commits(options, suite, std::move(commands), search, program);
  } else {
    search_settings(options, suite, *good, differences, search, program);
  }
  if (options.json) {
    fmt::print("{}\n", dump_line(to_json(search)));
  } else {
    fmt::print("{}", report::bisect_table(search, terminal_style()));
  }
  program.code = search.exit_code();
}

}  // namespace

void add_bisect(Program& program) {
  auto options = std::make_shared<BisectCommand>();
  auto* command = program.app.add_subcommand(
      "bisect",
      "the first commit, or the fewest settings, that made a metric of a cell worse; by the gate's paired test");
  command->add_option("suite", options->suite.suite_path, "suite, YAML or JSON")->required();
  command->add_option("--cell", options->cell, "the cell: its id, or a glob that matches it alone")->required();
  command->add_option("--metric", options->metric, "the metric; \"launches\": whether they fail")->required();
  command->add_option("--good", options->good, std::string("with --repo a revision; else an arm: ") + arm_forms)
      ->allow_extra_args(false);
  command->add_option("--bad", options->bad, "the other end, in the same forms")->allow_extra_args(false);
  command->add_option("--repo", options->repository, "git repository whose commits are searched, along first parents");
  command
      ->add_option("--build", options->build,
                   "with --repo: builds a commit, words as in --worker; {source} is its work tree, {out} the program "
                   "or build folder to make; several run one after the other")
      ->allow_extra_args(false);
  command->add_option("--pairs", options->pairs, "N,M: pairs at each midpoint, doubled up to M while unknown (10,40)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--tolerance", options->tolerance, "what counts as a change, e.g. 1% (default: the cell's)");
  command->add_option("--seed", options->seed, "of the order within pairs (default: drawn, printed and kept)");
  options->suite.add_workers_to(*command);
  options->suite.launcher.add_to(*command);
  auto* out = command->add_option("--out", options->out, "folder to make (default: runs/<suite>-bisect-<time>)");
  command->add_option("--resume", options->resume, "go on with a search in this folder; give the same question again")
      ->excludes(out);
  command->add_flag("--json", options->json, "JSON on standard output (schema bisect), as in FOLDER/bisect.json");
  command->add_flag("--quiet", options->quiet, "no progress on standard error");
  command->footer(
      "Examples:\n"
      "  stepgauge bisect configs/smoke.yaml --cell 'llama.tiny*ddp2*' --metric throughput --repo . --good v1.0 --bad "
      "HEAD \\\n"
      "    --build 'cmake -S {source} -B {out} -G Ninja' --build 'ninja -C {out} stepgauge-worker'\n"
      "  stepgauge bisect configs/smoke.yaml --cell 'llama.tiny*ddp2*' --metric throughput --good self \\\n"
      "    --bad env:OMP_NUM_THREADS=1,MKL_NUM_THREADS=2 --bad set:batch=4\n"
      "Exit codes: 0 found, 2 usage or config error, 3 not measurable or interrupted, 4 a range, or not decided, or "
      "no\n"
      "            difference between the ends");
  command->callback([options, &program] { bisect(*options, program); });
}

}  // namespace stepgauge::cli
