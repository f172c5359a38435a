#include "stats/moderated.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "series.hpp"

namespace stepgauge::stats {
namespace {

TEST(Moderated, WeighsThePriorByItsDf) {
  // By hand: s^2 = 8 with df 1, so (10 * 4 + 1 * 8) / 11.
  const auto sample = *paired(std::vector<double>{1.0, 5.0});
  const auto result = moderated(sample, {.variance = 4.0});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->n, 2u);
  EXPECT_EQ(result->mean, 3.0);
  EXPECT_EQ(result->df, 11.0);
  EXPECT_NEAR(result->sd, std::sqrt(48.0 / 11.0), 1e-14);
  EXPECT_NEAR(result->standard_error, std::sqrt(24.0 / 11.0), 1e-14);
}

TEST(Moderated, RefusesAPriorThatThePairsContradict) {
  const auto sample = *paired(std::vector<double>{1.0, 5.0});
  EXPECT_TRUE(moderated(sample, {.variance = 2.001}));
  EXPECT_FALSE(moderated(sample, {.variance = 1.999}));
}

TEST(Moderated, EqualDifferencesAreNotCertainAnyMore) {
  // Three equal differences of 0.01 by chance must not block with p = 0.
  const auto result = moderated(*paired(std::vector<double>(3, 0.01)), {.variance = 0.0001});
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->sd, 0.01 * std::sqrt(10.0 / 12.0), 1e-15);
  EXPECT_GT(paired_p_above(*result, 0.0), 0.01);
}

TEST(Moderated, KeepsTheLevelAndGainsPower) {
  constexpr int rounds = 4000;
  int false_alarms = 0;
  int plain = 0;
  int found = 0;
  for (int seed = 0; seed < rounds; ++seed) {
    const auto sample = *paired(test::noise(5, 1.0, 1.0, 0.0, seed));
    const auto result = moderated(sample, {.variance = 1.0}).value_or(sample);
    false_alarms += paired_p_above(result, 1.0) < 0.05;
    plain += paired_p_above(sample, 0.0) < 0.05;
    found += paired_p_above(result, 0.0) < 0.05;
  }
  EXPECT_NEAR(false_alarms, 0.05 * rounds, 0.01 * rounds);
  EXPECT_GT(found, plain + 0.02 * rounds);
}

TEST(Moderated, BrokenContractsThrow) {
  const auto sample = *paired(std::vector<double>{1.0, 5.0});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const SpreadPrior& prior : {SpreadPrior{0.0}, SpreadPrior{-1.0}, SpreadPrior{nan}, SpreadPrior{1.0, 0.0}}) {
    EXPECT_THROW(moderated(sample, prior), std::invalid_argument);
  }
}

}  // namespace
}  // namespace stepgauge::stats
