#include "cli/bisect_session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "contract/short_commit.hpp"
#include "report/text.hpp"

namespace stepgauge::cli {
namespace {

/// A name for a midpoint's folder, the same whenever the search is gone on with.
std::string folder_name(std::size_t number, const verdict::BisectStep& step) {
  return step.index ? fmt::format("{:03}-{}", number, short_commit(step.subject))
                    : fmt::format("{:03}-{}", number, fmt::join(step.subset, "-"));
}

}  // namespace

BisectSession::BisectSession(SuiteOptions suite, verdict::Bisect& bisect, BisectArms arms, bool quiet, Program& program)
    : bisect_(bisect), arms_(std::move(arms)), quiet_(quiet), pairs_(std::move(suite), quiet, program, "the search") {}

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
    tell(fmt::format("commit {} ({})", short_commit(commit.id), commit.title));
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
  auto gate = gate_policy(policy);
  gate.seed = seed;
  verdict::BisectTest none;
  const auto pairs = pairs_.open({arms_.good, arm, folder, gate}, none.reason);
  if (!pairs) {
    none.answer = verdict::BisectAnswer::skipped;
    return none;
  }
  for (auto count = policy.first_pairs;; count = std::min(2 * count, policy.most_pairs)) {
    const auto done = pairs_.measure(*pairs, count);
    interrupted_ = done.interrupted;
    auto test = bisect_test(done.cells.front(), bisect_.metric, bisect_.direction, policy);
    if (interrupted_ || test.answer != verdict::BisectAnswer::unknown || count >= policy.most_pairs) return test;
    tell(fmt::format("  not decided with {} pairs, taking {}", count, std::min(2 * count, policy.most_pairs)));
  }
}

void BisectSession::write() const {
  write_text_file((std::filesystem::path(bisect_.folder) / "bisect.json").string(), dump_pretty(to_json(bisect_)));
}

void BisectSession::tell(const std::string& line) const {
  if (!quiet_) fmt::print(stderr, "stepgauge: {}\n", report::printable(line));
}

}  // namespace stepgauge::cli
