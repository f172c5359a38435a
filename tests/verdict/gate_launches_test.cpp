// Launches that failed, were spoilt, or lack values: what is worse must not be taken for missing data, nor an accident
// of the machine for a regression.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gate_cells.hpp"
#include "verdict/gate.hpp"
#include "verdict/gate_json.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;

constexpr const char* metric = "throughput";

/// Screen and confirmation of quiet pairs in which the launches that are listed crash.
GateCell crashing(const std::vector<int>& head, const std::vector<int>& base, int pairs) {
  auto cell = new_gate_cell();
  const auto in = [](const std::vector<int>& list, int pair) {
    return std::find(list.begin(), list.end(), pair) != list.end();
  };
  for (int pair = 0; pair < pairs; ++pair) {
    const double value = 100 + 0.1 * (pair % 3);
    add_try(cell, pair < 5 ? GateStage::screen : GateStage::confirm, pair,
            in(base, pair) ? failed_launch() : ok_launch(metric, value),
            in(head, pair) ? failed_launch() : ok_launch(metric, value + 0.05 * (pair % 2)));
  }
  return cell;
}

GateRow launches_of(const GateCell& cell) {
  const auto out = judge_gate({cell}, small_policy());
  for (const auto& row : out.rows) {
    if (row.metric == launches_row) return row;
  }
  return {};
}

TEST(GateLaunches, AThirdOfHeadsLaunchesIsConfirmedThenWorse) {
  const auto screen = crashing({1, 3}, {}, 5);
  EXPECT_EQ(launches_of(screen).verdict, Verdict::inconclusive) << "blocking is decided on new launches";
  EXPECT_EQ(to_confirm({screen}, small_policy()).cells, std::vector<std::size_t>{0});
  EXPECT_EQ(launches_of(crashing({1, 3, 6, 8}, {}, 10)).verdict, Verdict::regressed);
  EXPECT_EQ(launches_of(crashing({1, 3, 6}, {}, 10)).verdict, Verdict::invalid) << "1 of 5 is less than a third";
  EXPECT_EQ(launches_of(crashing({1, 3, 6, 8}, {7}, 10)).verdict, Verdict::invalid) << "base fails as well";
}

TEST(GateLaunches, ConfirmationEndsOnceItIsDecided) {
  EXPECT_FALSE(confirmation_ended(crashing({1, 3, 5}, {}, 6), {}, small_policy()));
  const auto cell = crashing({1, 3, 5, 6}, {}, 7);
  EXPECT_TRUE(confirmation_ended(cell, {}, small_policy()));
  EXPECT_EQ(launches_of(cell).verdict, Verdict::regressed);
}

TEST(GateLaunches, OneAccidentIsNoPattern) {
  const auto out = judge_gate({crashing({2}, {}, 5)}, small_policy());
  EXPECT_EQ(launches_of(crashing({2}, {}, 5)).verdict, Verdict::invalid);
  EXPECT_EQ(out.exit_code, ExitCode::measurement_failed);
  EXPECT_TRUE(to_confirm({crashing({2}, {}, 5)}, small_policy()).cells.empty());
}

TEST(GateLaunches, OneOfThreeIsStillOneAccident) {
  auto policy = small_policy();
  policy.screen_pairs = 3;
  EXPECT_TRUE(to_confirm({crashing({2}, {}, 3)}, policy).cells.empty());
}

TEST(GateLaunches, SpoiltLaunchesDoNotDiluteFailures) {
  auto cell = crashing({}, {}, 3);
  for (int pair = 3; pair < 5; ++pair) {
    for (int times = 0; times < 2; ++times)
      add_try(cell, GateStage::screen, pair, ok_launch(metric, 100), spoilt_launch());
    add_try(cell, GateStage::screen, pair, ok_launch(metric, 100), failed_launch());
  }
  EXPECT_EQ(to_confirm({cell}, small_policy()).cells, std::vector<std::size_t>{0}) << "2 of 5, not 2 of 9";
}

TEST(GateLaunches, ABaseThatFailsIsANote) {
  const auto out = judge_gate({crashing({}, {2}, 5)}, small_policy());
  EXPECT_EQ(out.exit_code, ExitCode::nothing_worse);
  ASSERT_EQ(out.notes.size(), 1u);
  EXPECT_NE(out.notes[0].find("base: 1 of 5 launches failed"), std::string::npos) << out.notes[0];
  EXPECT_EQ(out.rows.at(0).pairs, 4u) << "the whole pair is dropped";
}

TEST(GateLaunches, NothingOfHeadWorks) {
  const std::vector<int> all{0, 1, 2, 3, 4};
  const auto worse = judge_gate({crashing(all, {}, 5)}, small_policy());
  EXPECT_EQ(launches_of(crashing(all, {}, 5)).verdict, Verdict::regressed);
  EXPECT_EQ(worse.exit_code, ExitCode::regression);
  EXPECT_EQ(judge_gate({crashing(all, all, 5)}, small_policy()).exit_code, ExitCode::measurement_failed);
  EXPECT_TRUE(to_confirm({crashing(all, {}, 5)}, small_policy()).cells.empty());
}

TEST(GateLaunches, SpoiltPairsAreRepeatedThreeTimes) {
  const auto policy = small_policy();
  auto cell = crashing({}, {}, 4);
  for (int times = 1; times <= 4; ++times) {
    EXPECT_EQ(pair_state(cell, 4, policy), PairState::open) << times;
    add_try(cell, GateStage::screen, 4, ok_launch(metric, 100), spoilt_launch());
  }
  EXPECT_EQ(pair_state(cell, 4, policy), PairState::gave_up);
  const auto out = judge_gate({cell}, policy);
  EXPECT_EQ(out.rows.at(0).verdict, Verdict::invalid);
  EXPECT_NE(out.rows.at(0).reason.find("disturbed: other process"), std::string::npos) << out.rows.at(0).reason;
  EXPECT_EQ(out.spoilt_pairs, 4u);
  EXPECT_EQ(out.head.outside, 4u);
  EXPECT_EQ(out.exit_code, ExitCode::measurement_failed);
}

TEST(GateLaunches, ACellThatGaveUpIsNotConfirmedFurther) {
  auto cell = pairs_of(metric, {3.1, 2.9, 3.0, 3.2, 2.8});
  EXPECT_EQ(to_confirm({cell}, small_policy()).cells, std::vector<std::size_t>{0});
  for (int times = 0; times < 4; ++times) add_try(cell, GateStage::confirm, 5, ok_launch(metric, 100), spoilt_launch());
  EXPECT_TRUE(to_confirm({cell}, small_policy()).cells.empty()) << "minutes for a verdict that stays invalid";
  EXPECT_EQ(judge_gate({cell}, small_policy()).rows.at(0).verdict, Verdict::invalid);
}

TEST(GateLaunches, ARepeatedPairCountsOnceWithItsLastTry) {
  auto cell = crashing({}, {}, 4);
  add_try(cell, GateStage::screen, 4, ok_launch(metric, 100), spoilt_launch());
  cell.tries.back().head.metrics[metric] = {1e9, "samples/s", ""};  // a spoilt launch never gives a value
  add_try(cell, GateStage::screen, 4, ok_launch(metric, 100), ok_launch(metric, 100));
  const auto row = judge_gate({cell}, small_policy()).rows.at(0);
  EXPECT_EQ(row.pairs, 5u);
  EXPECT_EQ(row.verdict, Verdict::pass);
  EXPECT_LT(*row.head, 101);
}

TEST(GateLaunches, ClocksThatChangedSpoilThePair) {
  auto cell = crashing({}, {}, 5);
  cell.tries.back().spoilt = "GPU 0: SM clock 1980 MHz in base, 1500 MHz in head";
  EXPECT_EQ(pair_state(cell, 4, small_policy()), PairState::open);
  EXPECT_EQ(judge_gate({cell}, small_policy()).rows.at(0).pairs, 4u);
}

TEST(GateLaunches, ValuesThatCannotBeCompared) {
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    auto cell = crashing({}, {}, 5);
    cell.tries[1].head.metrics[metric].value = bad;
    const auto out = judge_gate({cell}, small_policy());
    EXPECT_EQ(out.rows.at(0).verdict, Verdict::invalid) << bad;
    EXPECT_NO_THROW(dump_line(to_json(out, {})));
  }
  auto cell = crashing({}, {}, 5);
  for (auto& one : cell.tries) one.head.metrics[metric].unit = "tokens/s";
  EXPECT_EQ(judge_gate({cell}, small_policy()).rows.at(0).verdict, Verdict::invalid);
}

TEST(GateLaunches, AValueOfOneArmIsMissing) {
  for (const bool in_head : {true, false}) {
    auto cell = crashing({}, {}, 5);
    for (auto& one : cell.tries) (in_head ? one.head : one.base).metrics[metric] = {std::nullopt, "", "no allocator"};
    const auto out = judge_gate({cell}, small_policy());
    EXPECT_EQ(out.rows.at(0).verdict, Verdict::missing);
    EXPECT_NE(out.rows.at(0).reason.find("no allocator"), std::string::npos);
    EXPECT_EQ(out.exit_code, ExitCode::not_comparable);
  }
}

TEST(GateLaunches, CellsThatWereNeverMeasured) {
  auto cell = new_gate_cell();
  cell.stopped = "the budget is used up";
  const auto out = judge_gate({cell}, small_policy());
  EXPECT_EQ(out.rows.at(0).verdict, Verdict::inconclusive);
  EXPECT_EQ(out.counts.expected, 1u);
  EXPECT_EQ(out.cells_measured, 0u);
  EXPECT_EQ(out.exit_code, ExitCode::inconclusive);
}

}  // namespace
}  // namespace stepgauge::verdict
