// Confirmations that end early: a look that comes too soon, costs nothing, or forgets what it spent blocks good work;
// one that gives up too easily lets bad work pass. theta is ln 1.02 = 1.98 %; a quarter of it 0.495, 0.4 of it 0.79,
// three quarters 1.485.
#include <gtest/gtest.h>

#include <numeric>

#include "gate_cells.hpp"
#include "stats/paired_power.hpp"
#include "verdict/gate.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;

const std::vector<double> slower{2.6, 3.4, 3.0, 2.8, 3.2};
const std::vector<double> slower_again{2.7, 3.1, 3.3, 2.9, 3.0};

/// Looks after 3 (no level of its own), 5 and 8 pairs.
GatePolicy three_looks() {
  auto policy = small_policy();
  policy.looks = {{3, 0}, {5, 0.4}, {8, 0.6}};
  policy.confirm_pairs = 8;
  return policy;
}

GateCell cell_of(const std::vector<double>& confirm) {
  return pairs_of("throughput", slower, confirm);
}

bool ended(const std::vector<double>& confirm, std::size_t family = 1) {
  return confirmation_ended(cell_of(confirm), {family, 0}, three_looks());
}

GateRow row_of(const std::vector<double>& confirm) {
  return judge_gate({cell_of(confirm)}, three_looks()).rows.at(0);
}

TEST(GateLooks, TheDesignSpendsItsWholeLevelOnce) {
  const auto policy = sequential_policy();
  double spent = 0;
  for (std::size_t i = 0; i < policy.looks.size(); ++i) {
    spent += policy.looks[i].alpha_share;
    if (i > 0) {
      EXPECT_GT(policy.looks[i].pairs, policy.looks[i - 1].pairs);
    }
    if (policy.looks[i].alpha_share > 0) {
      EXPECT_GE(policy.looks[i].pairs, least_confirm_pairs);
    }
  }
  EXPECT_NEAR(spent, 1, 1e-12);
  EXPECT_EQ(policy.looks.back().pairs, policy.confirm_pairs);
  EXPECT_LE(policy.failure_pairs, policy.confirm_pairs);
  EXPECT_STREQ(design_name(policy), "sequential");
  EXPECT_STREQ(design_name({}), "fixed");
}

TEST(GateLooks, EndsAtTheLookThatConfirms) {
  EXPECT_FALSE(ended({2.7, 3.1, 3.3})) << "the first look has no level";
  EXPECT_FALSE(ended({2.7, 3.1, 3.3, 2.9}));
  EXPECT_TRUE(ended(slower_again));
  const auto row = row_of(slower_again);
  EXPECT_EQ(row.verdict, Verdict::regressed);
  EXPECT_EQ(row.pairs, 5u);
  EXPECT_EQ(row.looks, 2u);
  EXPECT_NEAR(*row.p, 7.53938e-6, 1e-9);  // as in one look at five pairs
  EXPECT_NEAR(*row.p_adjusted, *row.p / 0.4, 1e-15) << "the look has 0.4 of the level";
}

TEST(GateLooks, AFamilyAsksForMore) {
  // t = (1.9 - 0.495) / (0.7450 / sqrt 5) = 4.22, 4 df: p = 0.0068, of 0.4 of the level 0.0169: between 0.05 / 3 and
  // 0.05 / 2
  const std::vector<double> weaker{1.0, 1.4, 1.9, 2.3, 2.9};
  EXPECT_TRUE(ended(weaker, 1));
  EXPECT_TRUE(ended(weaker, 2));
  EXPECT_FALSE(ended(weaker, 3));
}

TEST(GateLooks, TheSmallestPOverTheLooksCounts) {
  // confirmed at five pairs; three more, as another row of the cell needs them, keep it above 0.75 theta with a larger
  // p
  const std::vector<double> values{2.7, 3.1, 3.3, 2.9, 3.0, 0.9, 1.2, 1.5};
  const auto row = row_of(values);
  EXPECT_EQ(row.looks, 3u);
  EXPECT_EQ(row.pairs, 8u);
  EXPECT_GT(*row.p, 7.54e-6);
  EXPECT_NEAR(*row.p_adjusted, 7.53938e-6 / 0.4, 1e-8);
  EXPECT_EQ(row.verdict, Verdict::regressed);
}

TEST(GateLooks, EndsEarlyWhereThereIsNothing) {
  EXPECT_TRUE(ended({0.1, -0.2, 0.3}));
  const auto row = row_of({0.1, -0.2, 0.3});
  EXPECT_EQ(row.verdict, Verdict::pass);
  EXPECT_EQ(row.stage, GateStage::confirm);
  EXPECT_EQ(row.pairs, 3u);
}

TEST(GateLooks, GoesOnWhileItMayBeSo) {
  EXPECT_FALSE(ended({1.6, 0.7, 1.4})) << "mean 1.23, and the 85 % bound is above 1.485";
  EXPECT_FALSE(ended({2.0, 2.1, -4.0})) << "one pair that is far off ends nothing: the median is 2.0";
  EXPECT_TRUE(ended({-2.0, 2.1, 0.1})) << "mean 0.07, median 0.1";
  EXPECT_TRUE(ended({1.40, 1.41, 1.42})) << "certainly below three quarters of the threshold";
}

TEST(GateLooks, TheLastLookDecides) {
  const std::vector<double> between{1.6, 0.7, 1.9, 0.8, 1.8, 0.6, 1.9, 1.2};
  EXPECT_FALSE(ended({1.6, 0.7, 1.9, 0.8, 1.8}));
  EXPECT_TRUE(ended(between));
  EXPECT_EQ(row_of(between).verdict, Verdict::pass) << "mean 1.31 is less than 1.485";
}

TEST(GateLooks, BetweenLooksNothingIsDecided) {
  const auto row = row_of({1.6, 0.7, 1.9, 0.8, 1.8, 0.6});
  EXPECT_EQ(row.verdict, Verdict::inconclusive);
  EXPECT_EQ(row.stage, GateStage::screen);
  EXPECT_NE(row.reason.find("6 of at most 8 confirming pairs"), std::string::npos) << row.reason;
}

TEST(GateLooks, EveryRowOfTheCellIsDecided) {
  auto cell = cell_of(slower_again);
  const std::vector<double> undecided{1.6, 0.7, 1.9, 0.8, 1.8};
  for (std::size_t i = 0; i < cell.tries.size(); ++i) {
    const double worse = i < 5 ? slower[i] : undecided[i - 5];
    cell.tries[i].base.metrics["peak_memory"] = {10000 + 0.1 * static_cast<double>(i), "MiB", ""};
    cell.tries[i].head.metrics["peak_memory"] = {10000 * std::exp(worse / 100), "MiB", ""};
  }
  cell.head.tolerance["peak_memory"] = {0.02, 0};
  EXPECT_FALSE(confirmation_ended(cell, {2, 0}, three_looks()));
  const auto rows = judge_gate({cell}, three_looks()).rows;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].verdict, Verdict::regressed) << "what a look has confirmed stands, though the budget ends here";
  EXPECT_EQ(rows[1].verdict, Verdict::inconclusive);
}

TEST(GateLooks, AFewValuesThatAgreeAreNoProof) {
  // launches with one of two sizes: by chance all of base have one, all of head the other
  const auto agreeing = [](std::size_t pairs, double base, double head) {
    auto cell = cell_of({});
    for (std::size_t i = 0; i < pairs; ++i)
      add_try(cell, GateStage::confirm, 5 + static_cast<int>(i), ok_launch("throughput", base),
              ok_launch("throughput", head));
    return cell;
  };
  const auto verdict = [&](std::size_t pairs, double base, double head) {
    return judge_gate({agreeing(pairs, base, head)}, three_looks()).rows.at(0).verdict;
  };
  for (const std::size_t pairs : {3, 5}) {
    EXPECT_FALSE(confirmation_ended(agreeing(pairs, 100, 95), {1, 0}, three_looks()));
    EXPECT_EQ(verdict(pairs, 100, 95), Verdict::inconclusive);
  }
  EXPECT_EQ(verdict(8, 100, 95), Verdict::regressed) << "none of eight varies";
  EXPECT_TRUE(confirmation_ended(agreeing(3, 100, 100), {1, 0}, three_looks()));
  EXPECT_EQ(verdict(3, 100, 100), Verdict::pass);
  EXPECT_EQ(verdict(3, 95, 100), Verdict::pass) << "not improved either";
}

TEST(GateLooks, ImprovementsMirror) {
  std::vector<double> faster, again;
  for (const double x : slower) faster.push_back(-x);
  for (const double x : slower_again) again.push_back(-x);
  const auto cell = pairs_of("throughput", faster, again);
  EXPECT_TRUE(confirmation_ended(cell, {0, 1}, three_looks()));
  EXPECT_EQ(judge_gate({cell}, three_looks()).rows.at(0).verdict, Verdict::improved);
  again.resize(3);
  EXPECT_FALSE(confirmation_ended(pairs_of("throughput", faster, again), {0, 1}, three_looks()));
  EXPECT_TRUE(confirmation_ended(pairs_of("throughput", faster, {0.1, -0.2, 0.3}), {0, 1}, three_looks()));
}

TEST(GateLooks, TheMdeIsThatOfTheLastLook) {
  const auto row = row_of(slower_again);
  const double theta = std::log1p(0.02);
  EXPECT_NEAR(*row.mde, std::expm1(stats::paired_mde(*row.spread, 8, {0.05 * 0.6, 0.80, theta / 4})), 1e-12);
}

TEST(GateLooks, OnePairFarOffHidesNothingFromTheScreen) {
  const std::vector<double> shocked{2.1, 2.0, 1.9, 2.2, -3.0};  // mean 1.04, t = 1.03: p = 0.18 ...
  const std::vector<double> more{2.1, 2.0, 1.9, 2.2, -4.0};     // mean 0.84 is below half of the threshold
  auto policy = three_looks();
  policy.screen_signs = true;
  const auto suspicion = [](const std::vector<double>& values, const GatePolicy& by) {
    return judge_gate({pairs_of("throughput", values)}, by).rows.at(0).suspicion;
  };
  EXPECT_EQ(suspicion(shocked, three_looks()), Suspicion::worse);
  EXPECT_EQ(suspicion(more, three_looks()), Suspicion::none);
  EXPECT_EQ(suspicion(more, policy), Suspicion::worse);
  EXPECT_EQ(suspicion({-2.1, -2.0, -1.9, -2.2, 4.0}, policy), Suspicion::better);
  EXPECT_EQ(suspicion({2.1, 2.0, 1.9, -2.2, -4.0}, policy), Suspicion::none) << "3 of 5 signs: p = 0.5";
  EXPECT_EQ(suspicion({0.9, 0.8, 0.9, 0.95, -4.0}, policy), Suspicion::none) << "the median is below half";
}

}  // namespace
}  // namespace stepgauge::verdict
