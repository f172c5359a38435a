// The pairs that a plan expects must be those that the gate's own schedule makes.
#include "verdict/gate_length.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "gate_cells.hpp"
#include "verdict/gate.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;

/// New pairs that a cell under suspicion takes by the rules themselves, mean over gates with this effect and spread.
double pairs_of_the_rules(double effect, const GateOdds& odds, const GatePolicy& policy, int rounds) {
  std::mt19937_64 random(5);
  std::normal_distribution<> normal;
  const std::vector<double> screen{10, 10.1, 9.9, 10, 10.05};  // beyond doubt: every gate is confirmed
  double sum = 0;
  for (int i = 0; i < rounds; ++i) {
    std::vector<double> fresh;
    for (const auto& look : policy.looks) {
      while (fresh.size() < look.pairs) fresh.push_back(100 * (effect + odds.sd * normal(random)));
      if (confirmation_ended(pairs_of("throughput", screen, fresh), {1, 0}, policy)) break;
    }
    sum += static_cast<double>(fresh.size());
  }
  return sum / rounds;
}

TEST(GateLength, IsThatOfTheRules) {
  const auto policy = sequential_policy();
  const double theta = std::log1p(0.02);
  for (const double effect : {0.0, theta, 2 * theta}) {
    const GateOdds odds{0.01, theta};
    const double expected = expected_new_pairs(effect, odds, 1, policy);
    EXPECT_NEAR(expected, pairs_of_the_rules(effect, odds, policy, 200), 1.2) << "effect " << effect;
    EXPECT_GE(expected, static_cast<double>(policy.looks.front().pairs));
    EXPECT_LE(expected, static_cast<double>(policy.confirm_pairs));
  }
}

TEST(GateLength, NoiseAsksForMorePairsAndNeverForMoreThanThereAre) {
  const auto policy = sequential_policy();
  const double quiet = expected_new_pairs(1, {0.1, 1}, 1, policy);
  const double typical = expected_new_pairs(1, {typical_spread_share, 1}, 1, policy);
  const double noisy = expected_new_pairs(1, {2, 1}, 1, policy);
  EXPECT_LT(quiet, 6);
  EXPECT_GT(typical, quiet);
  EXPECT_LT(typical, 15) << "a warning by 30 pairs came early: a typical cell takes far fewer";
  EXPECT_GT(noisy, typical);
  EXPECT_LE(noisy, 30);
  EXPECT_LT(expected_new_pairs(0, {typical_spread_share, 1}, 1, policy), typical) << "what is nothing is given up soon";
  EXPECT_GE(expected_new_pairs(1, {typical_spread_share, 1}, 10, policy), typical) << "Holm asks for more";
  EXPECT_EQ(expected_new_pairs(1, {typical_spread_share, 1}, 1, policy), typical) << "the same at every call";
}

TEST(GateLength, OfAFixedDesignIsItsNumber) {
  GatePolicy fixed;
  fixed.confirm_pairs = 8;
  EXPECT_EQ(expected_new_pairs(1, {0.5, 1}, 1, fixed), 8);
}

}  // namespace
}  // namespace stepgauge::verdict
