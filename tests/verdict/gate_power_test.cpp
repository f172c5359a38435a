// What a plan promises must be what the rules do: the chances are held against the gate's own verdicts.
#include "verdict/gate_power.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "gate_cells.hpp"
#include "verdict/gate.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;

constexpr double two_percent = 0.019802627296179712;  // ln 1.02

std::vector<double> drawn(std::size_t n, double mean, double sd, std::mt19937_64& random) {
  std::normal_distribution<> normal(100 * mean, 100 * sd);
  std::vector<double> out(n);
  for (auto& value : out) value = normal(random);
  return out;
}

TEST(GatePower, ChancesAreThoseOfTheRules) {
  const GatePolicy policy;
  const GateOdds odds{0.02, two_percent};
  std::mt19937_64 random(11);
  constexpr int rounds = 1500;
  int suspected = 0, blocked = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto screen = drawn(policy.screen_pairs, 0.02, odds.sd, random);
    auto cell = pairs_of("throughput", screen);
    if (to_confirm({cell}, policy).cells.empty()) continue;
    ++suspected;
    cell = pairs_of("throughput", screen, drawn(policy.confirm_pairs, 0.02, odds.sd, random));
    blocked += judge_gate({cell}, policy).exit_code == ExitCode::regression;
  }
  const double expected = suspicion_chance(0.02, odds, policy.screen_pairs, policy);
  EXPECT_NEAR(suspected / double(rounds), expected, 0.03);
  EXPECT_NEAR(blocked / double(rounds), expected * confirmation_chance(0.02, odds, policy.confirm_pairs, 1, policy),
              0.04);
}

TEST(GatePower, GateableIsTheRuleOfTheGate) {
  const GatePolicy policy;
  const double least = least_theta(0.01, 15, 1, policy);
  EXPECT_TRUE(is_gateable({0.01, least * 1.000001}, 15, 1, policy));
  EXPECT_FALSE(is_gateable({0.01, least * 0.999999}, 15, 1, policy));
  // (t(0.95, 14) + t(0.80, 14)) * 0.01 / sqrt(15) / 1.75, t from the tables: 1.7613 and 0.8681.
  EXPECT_NEAR(least, (1.7613 + 0.8681) * 0.01 / std::sqrt(15.0) / 1.75, 1e-6);
  EXPECT_GT(least_theta(0.01, 15, 4, policy), least) << "more rows under suspicion ask for more";
  EXPECT_EQ(least_theta(0, 15, 1, policy), 0);
}

TEST(GatePower, FewestPairsFindItAndOneLessDoesNot) {
  const GatePolicy policy;
  const GateOdds odds{0.02, two_percent};
  const auto pairs = pairs_to_find(two_percent, odds, 0.9, 1, policy);
  ASSERT_TRUE(pairs);
  const auto found = [&](std::size_t screen, std::size_t confirm) {
    return suspicion_chance(two_percent, odds, screen, policy) *
           confirmation_chance(two_percent, odds, confirm, 1, policy);
  };
  EXPECT_GE(found(pairs->screen, pairs->confirm), 0.9);
  for (auto screen = policy.screen_pairs; screen + 6 < pairs->screen + pairs->confirm; ++screen)
    EXPECT_LT(found(screen, pairs->screen + pairs->confirm - 1 - screen), 0.9) << screen;
  EXPECT_FALSE(pairs_to_find(two_percent, {0.06, two_percent}, 0.9, 1, policy)) << "more than 60 pairs";
  EXPECT_FALSE(pairs_to_find(0, odds, 0.9, 1, policy));
  const auto quiet = pairs_to_find(two_percent, {0.001, two_percent}, 0.9, 1, policy);
  EXPECT_EQ(quiet->screen, policy.screen_pairs);
  EXPECT_EQ(quiet->confirm, least_confirm_pairs);
}

}  // namespace
}  // namespace stepgauge::verdict
