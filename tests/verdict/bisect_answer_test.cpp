// One midpoint's answer: a wrong "different" accuses a commit, a wrong "same" sends the search past the culprit.
#include <gtest/gtest.h>

#include <random>

#include "gate_cells.hpp"
#include "verdict/bisect.hpp"
#include "verdict/bisect_test.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;

std::vector<double> drawn(std::mt19937& random, double mean, double sd, std::size_t n) {
  std::normal_distribution<> normal(mean, sd);
  std::vector<double> out(n);
  for (auto& value : out) value = normal(random);
  return out;
}

BisectAnswer answer(const std::vector<double>& percent, std::optional<BisectDirection> direction = {},
                    const BisectPolicy& policy = {}) {
  return bisect_test(pairs_of("throughput", percent), "throughput", direction, policy).answer;
}

TEST(BisectTest, ClearCasesAndTheirDirection) {
  const std::vector<double> up{7.9, 8.1, 8, 8.2, 7.8, 8, 8.1, 7.9, 8, 8}, none{.1, -.1, 0, .2, -.2, 0, .1, -.1, 0, 0};
  EXPECT_EQ(answer(up), BisectAnswer::different);
  EXPECT_EQ(answer(none), BisectAnswer::same);
  const auto worse = bisect_test(pairs_of("throughput", up), "throughput", {}, {});
  EXPECT_EQ(worse.direction, BisectDirection::worse);
  EXPECT_EQ(worse.pairs, 10u);
  EXPECT_NEAR(*worse.change, std::exp(-0.08) - 1, 1e-4);
  EXPECT_LT(*worse.ci_lower, *worse.change);
  auto down = up;
  for (auto& value : down) value = -value;
  EXPECT_EQ(bisect_test(pairs_of("throughput", down), "throughput", {}, {}).direction, BisectDirection::better);
  EXPECT_EQ(answer(down), BisectAnswer::different);
  EXPECT_EQ(answer(down, BisectDirection::worse), BisectAnswer::same) << "better is not worse";
  EXPECT_NE(bisect_test(pairs_of("throughput", down), "throughput", BisectDirection::worse, {}).reason, "");
}

TEST(BisectTest, HalfAThresholdAndNoiseAreUnknown) {
  EXPECT_EQ(answer({1.43, 1.53, 1.13, 1.83, 1.33, 1.43, 1.23, 1.53, 1.43, 1.33}), BisectAnswer::unknown);
  EXPECT_EQ(answer({9, -12, 14, -6, 3, -15, 11, 2, -9, 8}), BisectAnswer::unknown);
}

TEST(BisectTest, ExactValuesNeedNoTest) {
  const auto memory = [](double head) {
    auto cell = new_gate_cell();
    for (int pair = 0; pair < 10; ++pair)
      add_try(cell, GateStage::screen, pair, ok_launch("peak_memory", 10000), ok_launch("peak_memory", head));
    return bisect_test(cell, "peak_memory", BisectDirection::worse, {}).answer;
  };
  EXPECT_EQ(memory(10000), BisectAnswer::same);
  EXPECT_EQ(memory(10090), BisectAnswer::same) << "within 1 %";
  EXPECT_EQ(memory(10200), BisectAnswer::different);
}

TEST(BisectTest, AnOwnTolerance) {
  const std::vector<double> one{1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.0, 1.1, 0.9};
  EXPECT_EQ(answer(one), BisectAnswer::same);
  BisectPolicy fine;
  fine.tolerance = 0.005;
  EXPECT_EQ(answer(one, {}, fine), BisectAnswer::different);
}

TEST(BisectTest, LaunchesThatFail) {
  auto cell = new_gate_cell();
  for (int pair = 0; pair < 10; ++pair)
    add_try(cell, GateStage::screen, pair, ok_launch("throughput", 100), failed_launch());
  const auto speed = bisect_test(cell, "throughput", {}, {});
  EXPECT_EQ(speed.answer, BisectAnswer::skipped);
  EXPECT_NE(speed.reason.find("10 of 10"), std::string::npos) << speed.reason;
  EXPECT_EQ(bisect_test(cell, "launches", {}, {}).answer, BisectAnswer::different);
  EXPECT_EQ(bisect_test(pairs_of("throughput", {1, 2, 3}), "launches", {}, {}).answer, BisectAnswer::same);
  cell.unmatched = "not in head: unsupported";
  EXPECT_EQ(bisect_test(cell, "launches", {}, {}).answer, BisectAnswer::skipped);
  EXPECT_THROW(bisect_test(new_gate_cell(), "stall_article", {}, {}), std::invalid_argument);
}

TEST(BisectTest, ErrorRatesOfTheWholeSchedule) {
  // sd 1 % of the pairs, tolerance 2 %: nothing and 4 % told apart, over all looks.
  std::mt19937 random(20261130);
  const BisectPolicy policy;
  EXPECT_EQ(policy.looks(), 3u);
  int wrong = 0, unknown = 0;
  constexpr int rounds = 1000;
  for (int round = 0; round < rounds; ++round) {
    const bool bad = round % 2 == 0;
    const auto all = drawn(random, bad ? 4 : 0, 1, policy.most_pairs);
    auto found = BisectAnswer::unknown;
    for (auto n = policy.first_pairs; n <= policy.most_pairs && found == BisectAnswer::unknown; n *= 2)
      found = answer({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)}, BisectDirection::worse, policy);
    unknown += found == BisectAnswer::unknown;
    wrong += found == (bad ? BisectAnswer::same : BisectAnswer::different);
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(unknown, rounds / 100);
}

Bisect commits(std::size_t count) {
  Bisect out;
  out.over_commits = true;
  out.metric = "throughput";
  for (std::size_t i = 0; i < count; ++i) out.commits.push_back({"commit" + std::to_string(i), "title"});
  return out;
}

void add(Bisect& bisect, std::size_t index, BisectAnswer found) {
  BisectStep step;
  step.subject = bisect.commits[index].id;
  step.index = index;
  step.test.answer = found;
  step.test.change = -0.08;
  bisect.steps.push_back(step);
  conclude(bisect);
}

TEST(Bisect, OutcomesAndExitCodes) {
  auto found = commits(3);
  add(found, 2, BisectAnswer::different);
  EXPECT_EQ(found.outcome, BisectOutcome::running);
  EXPECT_EQ(next_question(found).commit, 1u);
  add(found, 1, BisectAnswer::same);
  EXPECT_EQ(found.outcome, BisectOutcome::found);
  EXPECT_EQ(found.suspects, std::vector<std::string>{"commit2"});
  EXPECT_EQ(found.exit_code(), ExitCode::nothing_worse);
  EXPECT_NE(found.sentence().find("commit2"), std::string::npos) << found.sentence();

  auto range = commits(3);
  add(range, 2, BisectAnswer::different);
  add(range, 1, BisectAnswer::unknown);
  EXPECT_EQ(range.outcome, BisectOutcome::range);
  EXPECT_EQ(range.suspects, (std::vector<std::string>{"commit1", "commit2"}));
  EXPECT_EQ(range.exit_code(), ExitCode::inconclusive);

  for (const auto& [ends, outcome, code] :
       {std::tuple{BisectAnswer::same, BisectOutcome::not_different, ExitCode::inconclusive},
        std::tuple{BisectAnswer::unknown, BisectOutcome::undecided, ExitCode::inconclusive},
        std::tuple{BisectAnswer::skipped, BisectOutcome::not_measurable, ExitCode::measurement_failed}}) {
    auto bisect = commits(9);
    add(bisect, 8, ends);
    EXPECT_EQ(bisect.outcome, outcome);
    EXPECT_EQ(bisect.exit_code(), code);
    EXPECT_FALSE(next_question(bisect).commit);
    EXPECT_FALSE(bisect.sentence().empty());
  }
}

}  // namespace
}  // namespace stepgauge::verdict
