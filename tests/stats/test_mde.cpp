#include "stats/mde.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "series.hpp"

namespace stepgauge::stats {
namespace {

// Expected values: scipy 1.17.1, margin + (t.ppf(1 - alpha, df) + t.ppf(power, df)) * sqrt(s1^2/n1 + s2^2/n2)
// with the Welch-Satterthwaite df.
TEST(MinimumDetectableEffect, AgreesWithScipy) {
  EXPECT_NEAR(*minimum_detectable_effect(Arm{0.01, 5}, Arm{0.01, 5}), 0.0173826453629728, 1e-13);
  EXPECT_NEAR(*minimum_detectable_effect(Arm{0.01, 5}, Arm{0.02, 15}), 0.017930326614550733, 1e-13);
  const TestPlan strict{.alpha = 0.05 / 4, .power = 0.9, .margin = 0.005};
  EXPECT_NEAR(*minimum_detectable_effect(Arm{0.01, 15}, Arm{0.01, 15}, strict), 0.018441033166601662, 1e-13);
}

TEST(MinimumDetectableEffect, OfAComparisonUsesItsOwnSpread) {
  // Both standard deviations are sqrt(2).
  const auto sample = compare(std::vector<double>{1.0, 3.0}, std::vector<double>{11.0, 13.0}, Scale::points);
  const Arm arm{std::sqrt(2.0), 2};
  EXPECT_NEAR(*minimum_detectable_effect(*sample), *minimum_detectable_effect(arm, arm), 1e-12);
}

TEST(MinimumDetectableEffect, WithoutSpreadAnythingBeyondThetaIsSeen) {
  const TestPlan plan{.margin = 0.005};
  EXPECT_EQ(*minimum_detectable_effect(Arm{0.0, 3}, Arm{0.0, 3}, plan), 0.005);
  const auto exact = compare(std::vector<double>{1.0, 1.0}, std::vector<double>{2.0, 2.0}, Scale::points);
  EXPECT_EQ(*minimum_detectable_effect(*exact, plan), 0.005);
}

TEST(MinimumDetectableEffect, UnknownForOneLaunch) {
  EXPECT_FALSE(minimum_detectable_effect(Arm{0.01, 1}, Arm{0.01, 5}));
  EXPECT_FALSE(minimum_detectable_effect(Arm{0.01, 5}, Arm{0.01, 0}));
  EXPECT_FALSE(minimum_detectable_effect(*compare(std::vector<double>{1.0}, std::vector<double>{2.0}, Scale::points)));
}

TEST(MinimumDetectableEffect, IsFoundWithThePromisedPower) {
  constexpr int rounds = 2000;
  const TestPlan plan{.margin = 0.5};
  const double shift = *minimum_detectable_effect(Arm{1.0, 8}, Arm{1.0, 8}, plan);
  int found = 0;
  for (int seed = 0; seed < rounds; ++seed) {
    const auto sample = compare(test::noise(8, 10.0, 1.0, 0.0, 2 * seed),
                                test::noise(8, 10.0 + shift, 1.0, 0.0, 2 * seed + 1), Scale::points);
    found += *p_greater(*sample, plan.margin) < plan.alpha;
  }
  EXPECT_NEAR(found, 0.8 * rounds, 0.03 * rounds);
}

TEST(LaunchesNeeded, AgreesWithScipy) {
  // scipy 1.17.1, smallest n by counting up with the formula above.
  EXPECT_EQ(launches_needed(0.01, 0.02), 5u);
  EXPECT_EQ(launches_needed(0.01, 0.01), 14u);
  EXPECT_EQ(launches_needed(0.02, 0.02, {.alpha = 0.01, .power = 0.9, .margin = 0.005}), 48u);
  EXPECT_EQ(launches_needed(0.001, 0.05), 2u);
}

TEST(LaunchesNeeded, IsTheSmallestThatIsEnough) {
  for (const double effect : {0.003, 0.007, 0.02, 0.06}) {
    const auto n = launches_needed(0.01, effect);
    ASSERT_TRUE(n);
    EXPECT_LE(*minimum_detectable_effect(Arm{0.01, *n}, Arm{0.01, *n}), effect);
    const auto fewer = minimum_detectable_effect(Arm{0.01, *n - 1}, Arm{0.01, *n - 1});
    EXPECT_TRUE(!fewer || *fewer > effect);
  }
}

TEST(LaunchesNeeded, UnknownBeyondTheCap) {
  EXPECT_EQ(launches_needed(0.01, 0.01, {}, 14), 14u);
  EXPECT_FALSE(launches_needed(0.01, 0.01, {}, 13));
  EXPECT_FALSE(launches_needed(1.0, 0.001));
  EXPECT_FALSE(launches_needed(0.0, 1.0, {}, 1));
}

TEST(LaunchesNeeded, NoNumberShowsAnEffectWithinTheta) {
  EXPECT_FALSE(launches_needed(0.01, 0.005, {.margin = 0.005}));
  EXPECT_FALSE(launches_needed(0.0, 0.005, {.margin = 0.005}));
  EXPECT_FALSE(launches_needed(0.01, 0.0));
  EXPECT_EQ(launches_needed(0.0, 0.006, {.margin = 0.005}), 2u);
}

TEST(Mde, BrokenContractsThrow) {
  const Arm arm{0.01, 5};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(minimum_detectable_effect(Arm{-0.01, 5}, arm), std::invalid_argument);
  EXPECT_THROW(minimum_detectable_effect(arm, Arm{nan, 5}), std::invalid_argument);
  EXPECT_THROW(launches_needed(0.01, nan), std::invalid_argument);
  EXPECT_THROW(launches_needed(nan, 0.01), std::invalid_argument);
  for (const TestPlan& plan : {TestPlan{.alpha = 0.0}, TestPlan{.alpha = 1.0}, TestPlan{.power = 1.0},
                               TestPlan{.power = 0.05}, TestPlan{.alpha = nan}, TestPlan{.margin = nan}}) {
    EXPECT_THROW(minimum_detectable_effect(arm, arm, plan), std::invalid_argument);
    EXPECT_THROW(minimum_detectable_effect(TwoSample{}, plan), std::invalid_argument);
  }
}

}  // namespace
}  // namespace stepgauge::stats
