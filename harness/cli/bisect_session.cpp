#include "cli/bisect_session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "cli/gate_budget.hpp"
#include "cli/gate_session.hpp"
#include "cli/new_run_info.hpp"
#include "config/config_error.hpp"
#include "report/text.hpp"
#include "store/fingerprint.hpp"

namespace stepgauge::cli {
namespace {

constexpr std::size_t digits = 12;  ///< of a commit's id in names

/// A name for a midpoint's folder, the same whenever the search is gone on with.
std::string folder_name(std::size_t number, const verdict::BisectStep& step) {
  return step.index ? fmt::format("{:03}-{}", number, step.subject.substr(0, digits))
                    : fmt::format("{:03}-{}", number, fmt::join(step.subset, "-"));
}

DurationGuess guess_of(const GateFolder& folder, const machine::Machine& machine) {
  Plan plan;
  plan.suite.name = folder.arm(false).info().suite;
  plan.machine = machine;
  for (const bool head : {false, true}) {
    for (const auto& cell : folder.arm(head).info().cells) plan.cells.push_back(cell);
  }
  return DurationGuess(plan);
}

}  // namespace

BisectSession::BisectSession(SuiteOptions suite, verdict::Bisect& bisect, BisectArms arms, bool quiet, Program& program)
    : suite_(std::move(suite)),
      bisect_(bisect),
      arms_(std::move(arms)),
      quiet_(quiet),
      program_(program),
      launcher_(suite_.launcher.choose()),
      machine_(machine::inspect()),
      engine_(launcher_.make()),
      suite_hash_(suite_hash(suite_.suite_path)),
      cells_digest_(cells_digest(suite_.suite_path)) {}

void BisectSession::run() {
  if (bisect_.over_commits) {
    ask({bisect_.commits.size() - 1, std::nullopt});
  } else {
    verdict::SettingSubset all(bisect_.differences.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    ask({std::nullopt, all});
  }
  for (auto question = next_question(bisect_); !interrupted_ && (question.commit || question.subset);
       question = next_question(bisect_))
    ask(question);
  if (interrupted_) bisect_.outcome = verdict::BisectOutcome::interrupted;
  write();
}

void BisectSession::ask(const verdict::BisectQuestion& question) {
  verdict::BisectStep step;
  Midpoint midpoint;
  const auto number = bisect_.steps.size();
  if (question.commit) {
    const auto& commit = bisect_.commits[*question.commit];
    step.subject = commit.id;
    step.title = commit.title;
    step.index = question.commit;
    tell(fmt::format("commit {} ({})", commit.id.substr(0, digits), commit.title));
    midpoint = arms_.of_commit(*question.commit);
  } else {
    step.subset = *question.subset;
    std::vector<std::string> texts;
    for (const auto i : step.subset) texts.push_back(bisect_.differences[i]);
    step.subject = fmt::format("{}", fmt::join(texts, "; "));
    tell("settings as in the bad end: " + step.subject);
    midpoint = arms_.of_settings(step.subset);
  }
  if (midpoint.arm) {
    const auto folder = std::filesystem::path("tests") / folder_name(number, step);
    step.folder = folder.string();
    step.test = measure(*midpoint.arm, bisect_.folder / folder, bisect_.policy.seed + number);
  } else {
    step.test.answer = verdict::BisectAnswer::skipped;
    step.test.reason = midpoint.problem;
  }
  if (interrupted_) return;
  tell(fmt::format("  {}{}{}", to_string(step.test.answer), step.test.reason.empty() ? "" : ": ", step.test.reason));
  bisect_.steps.push_back(std::move(step));
  conclude(bisect_);
  write();
}

verdict::BisectTest BisectSession::measure(const Arm& arm, const std::filesystem::path& folder, std::uint64_t seed) {
  const auto& policy = bisect_.policy;
  const auto gate = gate_policy(policy);
  require_same_suite();
  std::optional<GateFolder> pairs;
  if (std::filesystem::exists(folder / "head" / "run.json")) {
    pairs = GateFolder::resume(folder, suite_.suite_path, launcher_);
    require_same_machine(*pairs);
  } else {
    GateSetup setup;
    setup.base = arms_.good.forms;
    setup.head = arm.forms;
    setup.seed = seed;
    setup.screen_pairs = gate.screen_pairs;
    setup.confirm_pairs = gate.confirm_pairs;
    const auto launches = static_cast<int>(gate.screen_pairs);
    const auto base = arm_plan(arms_.good, suite_, launches, program_.name);
    const auto head = arm_plan(arm, suite_, launches, program_.name);
    setup.cells = match_arms(base, head);
    setup.cells_digest = cells_digest_;
    if (setup.cells.empty()) {
      verdict::BisectTest none;
      none.answer = verdict::BisectAnswer::skipped;
      none.reason = head.unsupported.empty() ? "the cell cannot run here" : head.unsupported.begin()->second;
      return none;
    }
    std::filesystem::remove_all(folder);  // half made: it has no launches yet
    pairs = GateFolder::create(folder, new_run_info(base, suite_.suite_path, program_),
                               new_run_info(head, suite_.suite_path, program_), setup);
  }
  auto used = gate;
  used.seed = pairs->setup().seed;
  GateBudget budget(std::nullopt, *pairs, guess_of(*pairs, machine_));
  for (auto count = policy.first_pairs;; count = std::min(2 * count, policy.most_pairs)) {
    const auto done = run_pairs(*pairs, *engine_, budget,
                                {chosen_devices(suite_, machine_), used, suite_.suite_path, quiet_, {}}, count);
    interrupted_ = done.interrupted;
    auto test = bisect_test(done.cells.front(), bisect_.metric, bisect_.direction, policy);
    if (interrupted_ || test.answer != verdict::BisectAnswer::unknown || count >= policy.most_pairs) return test;
    tell(fmt::format("  not decided with {} pairs, taking {}", count, std::min(2 * count, policy.most_pairs)));
  }
}

void BisectSession::require_same_suite() const {
  if (suite_hash_ == suite_hash(suite_.suite_path) && cells_digest_ == cells_digest(suite_.suite_path)) return;
  throw config::ConfigError("", 0, 0,
                            fmt::format("{}: {} or a suite that it extends has changed since the search began; its "
                                        "answers cannot be mixed with new ones: start a new search",
                                        bisect_.folder, suite_.suite_path));
}

void BisectSession::require_same_machine(const GateFolder& pairs) const {
  const auto& before = pairs.arm(true).info().fingerprint;
  const auto now = store::fingerprint(to_json(machine_), before.contains("gpus"));
  if (now == before) return;
  throw config::ConfigError("", 0, 0,
                            fmt::format("{}: the search began on another machine ({}, this is {}); start a new one",
                                        bisect_.folder, store::fingerprint_slug(before), store::fingerprint_slug(now)));
}

void BisectSession::write() const {
  write_text_file((std::filesystem::path(bisect_.folder) / "bisect.json").string(), dump_pretty(to_json(bisect_)));
}

void BisectSession::tell(const std::string& line) const {
  if (!quiet_) fmt::print(stderr, "stepgauge: {}\n", report::printable(line));
}

}  // namespace stepgauge::cli
