// Which pair comes next: a schedule that forgets a spoilt pair, measures what is decided, or depends on where it was
// interrupted makes another gate than the one that is written down.
#include "verdict/gate_schedule.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "gate_cells.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;
using Place = std::pair<std::size_t, int>;  // cell, pair

/// What head loses in percent, by cell and pair.
using Loss = std::function<double(std::size_t, int)>;

double noise(std::size_t cell, int pair) {
  return 0.1 * static_cast<double>((static_cast<int>(cell) + 3 * pair) % 5 - 2);
}

void make(GateCell& cell, const GateStep& step, double percent) {
  const double base = 100 + 0.01 * (step.pair % 3);
  add_try(cell, step.stage, step.pair, ok_launch("throughput", base),
          ok_launch("throughput", base * std::exp(-percent / 100)));
}

/// Runs a gate to its end, or for so many steps.
std::vector<Place> walk(std::vector<GateCell>& cells, const GatePolicy& policy, const Loss& loss,
                        std::size_t most = 1000) {
  GateSchedule schedule(cells, policy);
  std::vector<Place> out;
  while (out.size() < most) {
    const auto step = schedule.next();
    if (!step) break;
    EXPECT_EQ(step->stage, step->pair < static_cast<int>(policy.screen_pairs) ? GateStage::screen : GateStage::confirm);
    out.emplace_back(step->cell, step->pair);
    make(cells[step->cell], *step, loss(step->cell, step->pair));
  }
  return out;
}

double second_is_slow(std::size_t cell, int pair) {
  return noise(cell, pair) + (cell == 1 ? 5 : 0);
}

/// Suspicious in the screen, nothing after it; the second cell slow throughout.
double third_was_an_accident(std::size_t cell, int pair) {
  return second_is_slow(cell, pair) + (cell == 2 && pair < 5 ? 3 : 0);
}

TEST(GateSchedule, RoundsOverAllCellsThenOverThoseUnderSuspicion) {
  std::vector<GateCell> cells(3, new_gate_cell());
  const auto places = walk(cells, small_policy(), second_is_slow);
  ASSERT_EQ(places.size(), 20u);
  for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(places[i], Place(i % 3, static_cast<int>(i / 3)));
  for (std::size_t i = 15; i < 20; ++i) EXPECT_EQ(places[i], Place(1, static_cast<int>(i) - 10));
}

TEST(GateSchedule, EachCellUntilItsLooksSuffice) {
  std::vector<GateCell> cells(3, new_gate_cell());
  const auto places = walk(cells, sequential_policy(), third_was_an_accident);
  const std::vector<Place> confirm(places.begin() + 15, places.end());
  EXPECT_EQ(confirm, (std::vector<Place>{{1, 5}, {2, 5}, {1, 6}, {2, 6}, {1, 7}, {2, 7}, {1, 8}, {1, 9}}));
  const auto gate = judge_gate(cells, sequential_policy());
  EXPECT_EQ(gate.rows.at(0).verdict, Verdict::pass);
  EXPECT_EQ(gate.rows.at(1).verdict, Verdict::regressed);
  EXPECT_EQ(gate.rows.at(2).verdict, Verdict::pass);
}

TEST(GateSchedule, NoisyCellsGetMorePairs) {
  std::vector<GateCell> cells(1, new_gate_cell());
  const auto places = walk(cells, sequential_policy(), [](std::size_t, int pair) { return pair % 2 == 0 ? 4.6 : 0.4; });
  EXPECT_GT(places.size(), 5u + 8u);
  EXPECT_EQ(judge_gate(cells, sequential_policy()).rows.at(0).verdict, Verdict::regressed);
}

TEST(GateSchedule, WhereItWasInterruptedDoesNotMatter) {
  for (const auto& policy : {small_policy(), sequential_policy()}) {
    std::vector<GateCell> whole(3, new_gate_cell());
    const auto expected = walk(whole, policy, third_was_an_accident);
    for (std::size_t cut = 0; cut <= expected.size(); ++cut) {
      std::vector<GateCell> cells(3, new_gate_cell());
      auto places = walk(cells, policy, third_was_an_accident, cut);
      const auto rest = walk(cells, policy, third_was_an_accident);
      places.insert(places.end(), rest.begin(), rest.end());
      EXPECT_EQ(places, expected) << "cut after " << cut;
    }
  }
}

TEST(GateSchedule, ASpoiltPairComesAgainAtOnce) {
  std::vector<GateCell> cells(2, new_gate_cell());
  GateSchedule schedule(cells, small_policy());
  const auto policy = small_policy();
  const auto first = schedule.next();
  ASSERT_TRUE(first);
  add_try(cells[0], GateStage::screen, 0, ok_launch("throughput", 100), spoilt_launch());
  const auto again = schedule.next();
  ASSERT_TRUE(again);
  EXPECT_EQ(Place(again->cell, again->pair), Place(0, 0));
  for (std::size_t i = 0; i < policy.most_repeats; ++i)
    add_try(cells[0], GateStage::screen, 0, ok_launch("throughput", 100), spoilt_launch());
  const auto rest = walk(cells, policy, noise);
  ASSERT_EQ(rest.size(), policy.screen_pairs);
  for (const auto& [cell, pair] : rest) EXPECT_EQ(cell, 1u) << "a cell with a pair that was given up is left alone";
}

TEST(GateSchedule, FailuresOfHeadAreConfirmedOnTwelvePairsAtMost) {
  std::vector<GateCell> cells(1, new_gate_cell());
  const auto policy = sequential_policy();
  GateSchedule schedule(cells, policy);
  while (const auto step = schedule.next()) {
    const bool fails = step->pair < 5 && step->pair % 2 == 0;  // 3 of 5 in the screen, then never again
    add_try(cells[0], step->stage, step->pair, ok_launch("throughput", 100 + 0.01 * (step->pair % 3)),
            fails ? failed_launch() : ok_launch("throughput", 100));
  }
  EXPECT_EQ(cells[0].tries.size(), 5u + policy.failure_pairs);
}

TEST(GateSchedule, WhatIsMissingOfTheScreen) {
  const auto policy = small_policy();
  auto cell = pairs_of("throughput", {1, 2});
  EXPECT_EQ(open_screen_pairs(cell, policy), policy.screen_pairs - 2);
  add_try(cell, GateStage::screen, 2, spoilt_launch(), ok_launch("throughput", 100));
  EXPECT_EQ(open_screen_pairs(cell, policy), policy.screen_pairs - 2) << "a spoilt pair comes again";
  cell.unmatched = "head lacks it";
  EXPECT_EQ(open_screen_pairs(cell, policy), 0u);
}

TEST(GateSchedule, CellsOfOneArmAreNotMeasured) {
  std::vector<GateCell> cells(2, new_gate_cell());
  cells[0].unmatched = "not in head: unsupported";
  for (const auto& [cell, pair] : walk(cells, small_policy(), noise)) EXPECT_EQ(cell, 1u) << pair;
}

}  // namespace
}  // namespace stepgauge::verdict
