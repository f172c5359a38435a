// The rules of the gate on hand-made pairs: a wrong sign, tail, tolerance, correction or stage blocks good work or lets
// bad work pass. Expected p values, bounds and MDE: Student's t with 4 degrees of freedom in closed form, quantiles
// from published tables, sign patterns counted by hand.
#include "verdict/gate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gate_cells.hpp"
#include "verdict/gate_json.hpp"
#include "verdict/gate_schedule.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;

const std::vector<double> quiet{0.1, -0.2, 0.3, 0, -0.2};
const std::vector<double> slower{2.6, 3.4, 3.0, 2.8, 3.2};
const std::vector<double> slower_again{2.7, 3.1, 3.3, 2.9, 3.0};

std::vector<double> negated(std::vector<double> values) {
  for (auto& value : values) value = -value;
  return values;
}

Gate judged(const std::vector<GateCell>& cells) {
  return judge_gate(cells, small_policy());
}

GateRow row_of(const GateCell& cell) {
  return judged({cell}).rows.at(0);
}

TEST(Gate, QuietPairsPassAndSayWhatTheyCouldHaveSeen) {
  const auto row = row_of(pairs_of("throughput", quiet));
  EXPECT_EQ(row.verdict, Verdict::pass);
  EXPECT_EQ(row.suspicion, Suspicion::none);
  EXPECT_EQ(row.stage, GateStage::screen);
  EXPECT_NEAR(*row.spread, 0.00212132, 1e-8);
  EXPECT_NEAR(*row.worse_bound, std::expm1(0.0014545), 1e-6);  // t(0.90, 4) = 1.533206
  EXPECT_NEAR(*row.mde, std::expm1(0.0078658), 1e-6);          // theta/4 + (2.131847 + 0.940965) s / sqrt(5)
  EXPECT_NEAR(*row.ci_lower, std::expm1(-0.0026340), 1e-6);    // t(0.975, 4) = 2.776445
  EXPECT_NEAR(*row.threshold, 0.02, 1e-12);
}

TEST(Gate, TheMdeOfAScreenIsThatOfThePlannedConfirmation) {
  auto policy = small_policy();
  policy.confirm_pairs = 15;
  const auto out = judge_gate({pairs_of("throughput", quiet)}, policy);
  EXPECT_NEAR(*out.rows.at(0).mde, std::expm1(0.0063908), 1e-6);  // t(0.95, 14) = 1.761310, t(0.80, 14) = 0.868055
}

TEST(Gate, TheMdeKnowsTheSizeOfTheFamily) {
  const auto out =
      judged({pairs_of("throughput", quiet), pairs_of("throughput", slower), pairs_of("throughput", slower)});
  EXPECT_NEAR(*out.rows.at(0).mde, std::expm1(0.0084773), 1e-6);  // two rows: t(1 - 0.05 / 2, 4) = 2.776445
}

TEST(Gate, TheScreenAloneDecidesNothing) {
  const auto cell = pairs_of("throughput", slower);
  const auto out = judged({cell});
  const auto& row = out.rows.at(0);
  EXPECT_EQ(row.verdict, Verdict::inconclusive);
  EXPECT_EQ(row.suspicion, Suspicion::worse);
  EXPECT_NEAR(*row.p, 1.45979e-5, 1e-9);
  EXPECT_NE(row.reason.find("0 of 5 confirming pairs"), std::string::npos) << row.reason;
  EXPECT_EQ(out.exit_code, ExitCode::inconclusive);
  EXPECT_EQ(to_confirm({pairs_of("throughput", quiet), cell}, small_policy()).cells, std::vector<std::size_t>{1});
}

TEST(Gate, SuspicionNeedsHalfTheToleranceAndAP) {
  const auto suspicion = [](const std::vector<double>& screen) {
    return row_of(pairs_of("throughput", screen)).suspicion;
  };
  EXPECT_EQ(suspicion({0.95, 0.96, 0.97, 0.98, 0.99}), Suspicion::none);   // mean 0.97 < 0.990 = theta / 2
  EXPECT_EQ(suspicion({0.97, 0.98, 1.00, 1.01, 1.02}), Suspicion::worse);  // 0.996
  EXPECT_EQ(suspicion({5, -3, 4, -2, 2}), Suspicion::none);                // mean 1.2, t = 0.74: p = 0.25
  EXPECT_EQ(suspicion({3, -1, 3, -0.5, 2}), Suspicion::worse);             // mean 1.3, t = 1.50: p = 0.10
  EXPECT_EQ(suspicion(negated(slower)), Suspicion::better);
}

TEST(Gate, ConfirmedOnNewPairsAlone) {
  const auto out = judged({pairs_of("throughput", slower, slower_again)});
  const auto& row = out.rows.at(0);
  EXPECT_EQ(row.verdict, Verdict::regressed);
  EXPECT_EQ(out.exit_code, ExitCode::regression);
  EXPECT_EQ(row.stage, GateStage::confirm);
  EXPECT_EQ(row.pairs, 5u);
  EXPECT_NEAR(*row.change, std::expm1(-0.03), 1e-12);  // throughput falls
  EXPECT_NEAR(*row.ci_lower, std::expm1(-0.0327764), 1e-6);
  EXPECT_NEAR(*row.ci_upper, std::expm1(-0.0272236), 1e-6);
  EXPECT_NEAR(*row.p, 7.53938e-6, 1e-9);  // of "worse by at most a quarter of the threshold"
  EXPECT_DOUBLE_EQ(*row.p_adjusted, *row.p);
  EXPECT_DOUBLE_EQ(*row.p_sign_flip, 1.0 / 32);
  EXPECT_NEAR(*row.mde, std::expm1(0.00802347), 1e-6);
}

TEST(Gate, AScreenThatIsNotRepeatedPasses) {
  const auto row = row_of(pairs_of("throughput", slower, quiet));
  EXPECT_EQ(row.verdict, Verdict::pass);
  EXPECT_EQ(row.suspicion, Suspicion::worse);
  EXPECT_EQ(row.stage, GateStage::confirm);
}

TEST(Gate, ThreeQuartersOfTheToleranceMustBeReached) {
  // far beyond theta / 4 by the p value, but too small: 1.40 < 1.485; then 1.49
  EXPECT_EQ(row_of(pairs_of("throughput", slower, {1.3, 1.5, 1.4, 1.45, 1.35})).verdict, Verdict::pass);
  EXPECT_EQ(row_of(pairs_of("throughput", slower, {1.39, 1.59, 1.49, 1.54, 1.44})).verdict, Verdict::regressed);
}

TEST(Gate, ImprovementsMirrorAndNeverBlock) {
  const auto out = judged({pairs_of("throughput", negated(slower), negated(slower_again))});
  EXPECT_EQ(out.rows.at(0).verdict, Verdict::improved);
  EXPECT_GT(*out.rows.at(0).change, 0);
  EXPECT_EQ(out.exit_code, ExitCode::nothing_worse);
  EXPECT_EQ(out.suspected, 0u);
}

TEST(Gate, EveryBlockingMetricHasItsDirection) {
  for (const auto& metric : metric_catalogue()) {
    if (!metric.blocking) continue;
    std::vector<double> screen, confirm;  // by half and more, beyond every tolerance and floor of values of 100
    for (const double x : slower) screen.push_back(70 + x);
    for (const double x : slower_again) confirm.push_back(70 + x);
    EXPECT_EQ(row_of(pairs_of(metric.name, screen, confirm)).verdict, Verdict::regressed) << metric.name;
    EXPECT_EQ(row_of(pairs_of(metric.name, negated(screen), negated(confirm))).verdict, Verdict::improved)
        << metric.name;
  }
}

TEST(Gate, HolmOverTheRowsUnderSuspicionAlone) {
  // all above theta / 4, p between 0.01 and 0.05: enough alone and beside quiet rows, not in a family of five
  const std::vector<double> weaker{0.6, 0.7, 2.4, 2.5, 2.6};
  std::vector<GateCell> cells{pairs_of("throughput", slower, slower_again)};
  for (int i = 0; i < 4; ++i) cells.push_back(pairs_of("throughput", slower, weaker));
  const auto crowd = judged(cells);
  EXPECT_EQ(crowd.suspected, 5u);
  EXPECT_EQ(crowd.rows.at(0).verdict, Verdict::regressed);
  EXPECT_NEAR(*crowd.rows.at(0).p_adjusted, 5 * *crowd.rows.at(0).p, 1e-12);
  EXPECT_GT(*crowd.rows.at(1).p_adjusted, 0.05);
  EXPECT_NE(crowd.rows.at(1).verdict, Verdict::regressed);
  std::vector<GateCell> beside{pairs_of("throughput", slower, weaker)};
  for (int i = 0; i < 4; ++i) beside.push_back(pairs_of("throughput", quiet));
  EXPECT_EQ(judged(beside).suspected, 1u);
  EXPECT_EQ(judged(beside).rows.at(0).verdict, Verdict::regressed);
}

TEST(Gate, ImprovementsAreAFamilyOfTheirOwn) {
  std::vector<GateCell> cells{pairs_of("throughput", slower, slower_again)};
  for (int i = 0; i < 4; ++i) cells.push_back(pairs_of("throughput", negated(slower), negated(slower_again)));
  const auto out = judged(cells);
  EXPECT_EQ(out.suspected, 1u);
  EXPECT_DOUBLE_EQ(*out.rows.at(0).p_adjusted, *out.rows.at(0).p) << "four better rows cost a worse one nothing";
  EXPECT_NEAR(*out.rows.at(1).p_adjusted, 4 * *out.rows.at(1).p, 1e-12);
}

TEST(Gate, WhatIsNotConfirmedYetCountsInTheFamily) {
  const auto out = judged(
      {pairs_of("throughput", slower, slower_again), pairs_of("throughput", slower), pairs_of("throughput", slower)});
  EXPECT_EQ(out.suspected, 3u);
  EXPECT_NEAR(*out.rows.at(0).p_adjusted, 3 * *out.rows.at(0).p, 1e-12);
}

TEST(Gate, UnstableWhenTheTestsDisagree) {
  // t: p = 0.0255; sign-flip: 2 of 32 patterns
  auto row = row_of(pairs_of("throughput", slower, {0.45, 1.0, 1.5, 2.0, 2.5}));
  EXPECT_EQ(row.verdict, Verdict::inconclusive);
  EXPECT_NEAR(*row.p, 0.0254668, 1e-6);
  EXPECT_DOUBLE_EQ(*row.p_sign_flip, 2.0 / 32);
  EXPECT_NE(row.reason.find("unstable"), std::string::npos) << row.reason;
  // mean 3.02, Hodges-Lehmann 2.00: apart by more than theta / 2 = 0.99
  row = row_of(pairs_of("throughput", slower, {1.9, 2.1, 1.9, 2.0, 7.2}));
  EXPECT_LT(*row.p, 0.05);
  EXPECT_EQ(row.verdict, Verdict::inconclusive);
  EXPECT_NE(row.reason.find("median of the pairs' averages"), std::string::npos) << row.reason;
}

TEST(Gate, NoiseIsNotGateable) {
  const auto out = judged({pairs_of("throughput", {6, -7, 5, -6, 1})});
  const auto& row = out.rows.at(0);
  EXPECT_EQ(row.verdict, Verdict::inconclusive);
  EXPECT_FALSE(row.gateable);
  EXPECT_EQ(out.not_gateable, 1u);
  EXPECT_GT(*row.mde, 0.04);
  EXPECT_NE(row.reason.find("not gateable at 2.0 %"), std::string::npos) << row.reason;
}

TEST(Gate, PassNeedsABoundBelowTwiceTheTolerance) {
  // 1.2 +- 3.07: the bound is 3.31; then 2.4 more. theta is 1.98, and with 15 new pairs the MDE is within 2 theta.
  auto policy = small_policy();
  policy.confirm_pairs = 15;
  policy.screen_share = 10;  // no suspicion
  const auto verdict = [&](double shift) {
    std::vector<double> values{3.0, -3.0, 1.5, -1.5, 0.0};
    for (auto& value : values) value += shift;
    return judge_gate({pairs_of("throughput", values)}, policy).rows.at(0);
  };
  EXPECT_EQ(verdict(1.2).verdict, Verdict::pass);
  EXPECT_EQ(verdict(3.6).verdict, Verdict::inconclusive);
  EXPECT_NE(verdict(3.6).reason.find("may be"), std::string::npos);
}

TEST(Gate, ExactRuleNeedsNoTest) {
  const auto exact = [](double base, double head) {
    auto cell = new_gate_cell();
    for (int pair = 0; pair < 5; ++pair)
      add_try(cell, GateStage::screen, pair, ok_launch("peak_memory", base), ok_launch("peak_memory", head));
    return row_of(cell);
  };
  EXPECT_EQ(exact(10000, 10000).verdict, Verdict::pass);
  EXPECT_EQ(exact(10000, 10099).verdict, Verdict::pass);
  EXPECT_EQ(exact(10000, 10101).verdict, Verdict::regressed);
  EXPECT_EQ(exact(10102, 10000).verdict, Verdict::improved);
  EXPECT_EQ(exact(1000, 1063).verdict, Verdict::pass);  // the floor of 64 MiB
  EXPECT_TRUE(exact(10000, 10101).exact);
  auto uneven = new_gate_cell();
  for (int pair = 0; pair < 5; ++pair)
    add_try(uneven, GateStage::screen, pair, ok_launch("peak_memory", 10000),
            ok_launch("peak_memory", 9000 + 700 * pair));
  EXPECT_FALSE(row_of(uneven).exact);
  const auto notes = judged({uneven}).notes;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("unexplained spread"), std::string::npos) << notes[0];
  EXPECT_NE(row_of(uneven).verdict, Verdict::regressed) << "a spread in one arm needs the test";
}

TEST(Gate, ToleranceOfTheHeadCellWins) {
  auto cell = pairs_of("throughput", slower, slower_again);
  cell.head.tolerance["throughput"] = {0.10, {}};
  EXPECT_EQ(row_of(cell).verdict, Verdict::pass);
}

// A floor of its own: 10 work/s of 100 stand for a tolerance of 10 %.
TEST(Gate, FloorOfTheHeadCellWins) {
  auto cell = pairs_of("throughput", slower, slower_again);
  cell.head.tolerance["throughput"] = {{}, 10.0};
  const auto row = row_of(cell);
  EXPECT_EQ(row.verdict, Verdict::pass);
  EXPECT_NEAR(*row.threshold, 0.10, 1e-4);
}

// All but one of the new pairs: who may stop when it looks bad enough finds what is not there.
TEST(Gate, AConfirmationCutShortIsInconclusive) {
  auto cell = pairs_of("throughput", slower, {slower_again.begin(), slower_again.end() - 1});
  cell.stopped = "the budget is used up";
  const auto row = row_of(cell);
  EXPECT_EQ(row.verdict, Verdict::inconclusive);
  EXPECT_EQ(row.stage, GateStage::screen);
  EXPECT_NE(row.reason.find("4 of 5 confirming pairs were made: the budget is used up"), std::string::npos)
      << row.reason;
}

TEST(Gate, AScreenCutShortIsInconclusive) {
  auto cell = pairs_of("throughput", {0.1, -0.1, 0.05});
  cell.stopped = "the budget is used up";
  const auto row = row_of(cell);
  EXPECT_EQ(row.verdict, Verdict::inconclusive);
  EXPECT_NE(row.reason.find("3 of 5 screening pairs were made: the budget"), std::string::npos) << row.reason;
  EXPECT_TRUE(to_confirm({pairs_of("throughput", {3, 3.1, 2.9})}, small_policy()).cells.empty());
  auto half = pairs_of("throughput", slower, {2.7, 3.1, 3.3});
  EXPECT_EQ(row_of(half).verdict, Verdict::inconclusive) << "the declared number of new pairs was not made";
}

TEST(Gate, MetricsThatDoNotBlockAreNotJudged) {
  const auto out = judged({pairs_of("step_time", slower, slower_again)});
  ASSERT_EQ(out.rows.size(), 1u);
  EXPECT_EQ(out.rows.at(0).verdict, Verdict::inconclusive) << "nothing compared is never a pass";
  EXPECT_NE(out.rows.at(0).reason.find("no metric that blocks"), std::string::npos) << out.rows.at(0).reason;
}

TEST(Gate, ExitCodesInTheirOrder) {
  const auto regressed = pairs_of("throughput", slower, slower_again),
             noisy = pairs_of("throughput", {6, -7, 5, -6, 1});
  auto missing = new_gate_cell();
  missing.unmatched = "not in head: unsupported";
  auto invalid = pairs_of("throughput", quiet);
  invalid.tries.back().head = failed_launch();
  EXPECT_EQ(judged({invalid}).exit_code, ExitCode::measurement_failed);
  EXPECT_EQ(judged({missing, invalid, noisy}).exit_code, ExitCode::not_comparable);
  EXPECT_EQ(judged({regressed, missing, invalid, noisy}).exit_code, ExitCode::regression);
  EXPECT_EQ(judged({noisy, invalid}).exit_code, ExitCode::measurement_failed);
  EXPECT_EQ(judged({noisy, pairs_of("throughput", quiet)}).exit_code, ExitCode::inconclusive);
  EXPECT_EQ(judged({}).exit_code, ExitCode::not_comparable) << "nothing compared is never 0";
}

TEST(GateSchedule, AlternatesFromADrawnOrder) {
  std::size_t head_first = 0, changed = 0;
  for (std::size_t cell = 0; cell < 1000; ++cell) {
    head_first += head_goes_first(7, cell, 0);
    changed += head_goes_first(7, cell, 0) != head_goes_first(8, cell, 0);
    for (std::size_t pair = 0; pair < 20; ++pair)
      ASSERT_NE(head_goes_first(7, cell, pair), head_goes_first(7, cell, pair + 1));
  }
  EXPECT_NEAR(static_cast<double>(head_first), 500, 80);  // five standard deviations of a fair coin
  EXPECT_NEAR(static_cast<double>(changed), 500, 80);
}

}  // namespace
}  // namespace stepgauge::verdict
