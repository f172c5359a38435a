#include "stats/sequential.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include "stats/detail/student_t.hpp"

namespace stepgauge::stats {
namespace {

using Pairs = std::vector<std::size_t>;

// Published boundaries of this spending function at one-sided 0.025 (two-sided 0.05), as R's ldbounds prints them
// for equal looks (Reboussin, DeMets, Kim and Lan 2000).
TEST(SequentialTest, AgreesWithPublishedBoundaries) {
  const auto expect = [](const Pairs& pairs, const std::vector<double>& bounds) {
    const auto test = sequential_test(pairs, {.alpha = 0.025});
    ASSERT_EQ(test.looks.size(), bounds.size());
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      EXPECT_EQ(test.looks[i].pairs, pairs[i]);
      EXPECT_NEAR(test.looks[i].reject_z, bounds[i], 2e-4) << i;
    }
    EXPECT_NEAR(test.looks.back().spent_alpha, 0.025, 1e-12);
  };
  expect({10, 20}, {2.9626, 1.9686});
  expect({10, 20, 30}, {3.7103, 2.5114, 1.9930});
  expect({10, 20, 30, 40}, {4.3326, 2.9631, 2.3590, 2.0141});
  expect({10, 20, 30, 40, 50}, {4.8769, 3.3569, 2.6803, 2.2898, 2.0310});
}

TEST(SequentialTest, OneLookIsThePlainTest) {
  const auto test = sequential_test(Pairs{15});
  ASSERT_EQ(test.looks.size(), 1u);
  // z_0.95 + z_0.80, and t_{0.95, 14} of any table.
  EXPECT_NEAR(test.drift, 1.644853627 + 0.841621234, 1e-6);
  EXPECT_NEAR(test.looks[0].reject_t, 1.76131, 1e-5);
  EXPECT_FALSE(test.looks[0].futility_t);
}

TEST(SequentialTest, BoundariesOfTHaveTheTailOfZ) {
  for (const SequentialLook& look : sequential_test(Pairs{5, 10, 15}).looks) {
    const double tail = 0.5 * std::erfc(look.reject_z / std::sqrt(2.0));
    EXPECT_NEAR(detail::student_t_upper_tail(look.reject_t, static_cast<double>(look.pairs - 1)), tail, 1e-12);
  }
}

struct Shares {
  double above = 0.0;
  double early = 0.0;
};

// What the test does with normal pairs of this mean and sd 1.
Shares simulate(const SequentialTest& test, double pair_mean, double margin, int rounds, bool heed_futility) {
  std::mt19937_64 engine(17);
  std::normal_distribution<double> normal(pair_mean, 1.0);
  Shares shares;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> differences;
    for (const SequentialLook& look : test.looks) {
      while (differences.size() < look.pairs) differences.push_back(normal(engine));
      const auto decision = decide(*paired(differences), look, margin);
      const bool above = decision == SequentialDecision::above;
      shares.above += above;
      if (above || (heed_futility && decision == SequentialDecision::not_above)) break;
    }
    shares.early += differences.size() < test.looks.back().pairs;
  }
  shares.above /= rounds;
  shares.early /= rounds;
  return shares;
}

TEST(SequentialTest, KeepsTheLevelWhetherFutilityIsHeededOrNot) {
  const auto test = sequential_test(Pairs{5, 10, 15});
  const Shares heeded = simulate(test, 0.3, 0.3, 20000, true);
  EXPECT_NEAR(heeded.above, 0.047, 0.006);
  EXPECT_GT(heeded.early, 0.8);
  EXPECT_NEAR(simulate(test, 0.3, 0.3, 20000, false).above, 0.0515, 0.006);
}

TEST(SequentialTest, HasThePowerUnderItsDrift) {
  // Many pairs, so that t is nearly z and nothing but the boundaries is tested.
  const Pairs pairs{100, 200, 300};
  const auto test = sequential_test(pairs, {.alpha = 0.05, .power = 0.8});
  const Shares shares = simulate(test, test.drift / std::sqrt(300.0), 0.0, 8000, true);
  EXPECT_NEAR(shares.above, 0.8, 0.015);
  EXPECT_GT(shares.early, 0.5);
  EXPECT_NEAR(simulate(test, 0.0, 0.0, 8000, false).above, 0.05, 0.008);
}

TEST(SequentialTest, LaterLooksAskForLess) {
  const auto test = sequential_test(Pairs{3, 6, 9, 12, 15}, {.alpha = 0.05 / 4});
  for (std::size_t i = 1; i < test.looks.size(); ++i) {
    EXPECT_LT(test.looks[i].reject_t, test.looks[i - 1].reject_t);
    EXPECT_GT(test.looks[i].spent_alpha, test.looks[i - 1].spent_alpha);
    if (!test.looks[i].futility_t) continue;
    EXPECT_GT(*test.looks[i].futility_t, *test.looks[i - 1].futility_t);
  }
}

TEST(Decide, ByTheBoundariesOfTheLook) {
  const SequentialLook look{.pairs = 4, .spent_alpha = 0.01, .reject_z = 2.0, .reject_t = 3.0, .futility_t = 0.5};
  const auto sample = [](double mean) {
    return Paired{.n = 4, .mean = mean, .sd = 2.0, .standard_error = 1.0, .df = 3.0};
  };
  EXPECT_EQ(decide(sample(4.0), look, 1.0), SequentialDecision::above);
  EXPECT_EQ(decide(sample(3.9), look, 1.0), SequentialDecision::go_on);
  EXPECT_EQ(decide(sample(1.5), look, 1.0), SequentialDecision::not_above);
  SequentialLook last = look;
  last.futility_t.reset();
  EXPECT_EQ(decide(sample(3.9), last, 1.0), SequentialDecision::not_above);
  EXPECT_EQ(decide(sample(4.0), last, 1.0), SequentialDecision::above);
}

TEST(Decide, WithoutSpreadTheMeanIsAFact) {
  const SequentialLook look = sequential_test(Pairs{3, 6}).looks.front();
  const auto sample = *paired(std::vector<double>(3, 0.1));
  EXPECT_EQ(decide(sample, look, 0.0), SequentialDecision::above);
  EXPECT_EQ(decide(sample, look, 0.1), SequentialDecision::not_above);
}

TEST(SequentialTest, BrokenContractsThrow) {
  for (const Pairs& pairs : {Pairs{}, Pairs{1, 5}, Pairs{5, 5}, Pairs{6, 5}}) {
    EXPECT_THROW(sequential_test(pairs), std::invalid_argument);
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const SequentialPlan& plan :
       {SequentialPlan{.alpha = 0.0}, SequentialPlan{.alpha = 0.5}, SequentialPlan{.power = 0.04},
        SequentialPlan{.power = 1.0}, SequentialPlan{nan}}) {
    EXPECT_THROW(sequential_test(Pairs{5, 10}, plan), std::invalid_argument);
  }
  const SequentialLook look = sequential_test(Pairs{3, 6}).looks.front();
  EXPECT_THROW(decide(*paired(std::vector<double>{1.0, 2.0}), look, 0.0), std::invalid_argument);
  EXPECT_THROW(decide(*paired(std::vector<double>{1.0, 2.0, 4.0}), look, nan), std::invalid_argument);
}

}  // namespace
}  // namespace stepgauge::stats
