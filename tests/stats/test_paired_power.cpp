#include "stats/paired_power.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "series.hpp"
#include "stats/paired.hpp"

namespace stepgauge::stats {
namespace {

// Expected values of this file: mpmath 1.3 with 30 digits; the noncentral t by quadrature over the chi
// distribution of the standard deviation.
TEST(PairedMde, AgreesWithTheFormula) {
  EXPECT_NEAR(paired_mde(0.01, 5), 0.0137420301819161510, 1e-15);
  EXPECT_NEAR(paired_mde(0.01, 15, {.margin = 0.005}), 0.0117889910239533918, 1e-15);
  EXPECT_NEAR(paired_mde(0.014, 15, {.alpha = 0.05 / 4, .power = 0.9, .margin = 0.005}), 0.0189335473921197686, 1e-15);
}

TEST(PairedMde, WithoutSpreadAnythingBeyondTheMarginIsSeen) {
  EXPECT_EQ(paired_mde(0.0, 2, {.margin = 0.005}), 0.005);
}

TEST(PairedPower, AgreesWithTheNoncentralT) {
  const TestPlan strict{.alpha = 0.01};
  EXPECT_NEAR(paired_power(0.02, 0.01, 8, strict), 0.9835400594106786, 1e-10);
  EXPECT_NEAR(paired_power(0.01, 0.01, 15, strict), 0.8772137921826634, 1e-10);
  EXPECT_NEAR(paired_power(0.05, 0.02, 8, strict), 0.9992785394122397, 1e-10);
  EXPECT_NEAR(paired_power(0.05, 0.04, 10, strict), 0.8439019103345605, 1e-10);
  EXPECT_NEAR(paired_power(0.02, 0.01, 2, {.margin = 0.005}), 0.2607642660429471, 1e-10);
  EXPECT_NEAR(paired_power(-0.01, 0.01, 5), 0.0001671735308610692, 1e-10);
}

TEST(PairedPower, AtTheMarginIsAlpha) {
  EXPECT_NEAR(paired_power(0.004, 0.01, 7, {.alpha = 0.03, .margin = 0.004}), 0.03, 1e-12);
}

TEST(PairedPower, EffectsFarBeyondTheNoise) {
  EXPECT_NEAR(paired_power(0.5, 1e-6, 5), 1.0, 1e-12);
  EXPECT_NEAR(paired_power(0.5, 1e-300, 5), 1.0, 1e-12);
  EXPECT_NEAR(paired_power(-0.5, 1e-6, 5), 0.0, 1e-12);
  // df = 1, critical value tan(pi (1/2 - 1e-5)) = 31830.99: P(|Z| < 20000 sqrt(2) / 31830.99) = erf(0.62831853).
  const TestPlan strict{.alpha = 1e-5};
  EXPECT_NEAR(paired_power(20000.0, 1.0, 2, strict), std::erf(20000.0 / 31830.9886079070916), 1e-8);
  // Both branches of the computation meet: noncentrality 1e4.
  const double edge = 1e4 / std::sqrt(2.0);
  EXPECT_NEAR(paired_power(0.999999 * edge, 1.0, 2, strict), paired_power(1.000001 * edge, 1.0, 2, strict), 1e-5);
}

TEST(PairedPower, WithoutSpreadTheTestIsCertain) {
  EXPECT_EQ(paired_power(0.006, 0.0, 2, {.margin = 0.005}), 1.0);
  EXPECT_EQ(paired_power(0.005, 0.0, 2, {.margin = 0.005}), 0.0);
}

// The same by quadrature with mpmath over the chi distribution.
TEST(PairedPower, WithALeastEstimate) {
  EXPECT_NEAR(paired_power_at_least(0.02, 0.01, 15, {.margin = 0.005}, 0.015), 0.9735962442682653, 1e-8);
  EXPECT_NEAR(paired_power_at_least(0.02, 0.02, 5, {.alpha = 0.2}, 0.01), 0.8557107444165348, 1e-8);
  EXPECT_NEAR(paired_power_at_least(0, 0.01, 5, {.alpha = 0.2}, 0.01), 0.01267324123379477, 1e-8);
  EXPECT_NEAR(paired_power_at_least(0.02, 0.03, 2, {.margin = 0.005}, 0.015), 0.100665787652686, 1e-8);
  EXPECT_NEAR(paired_power_at_least(0.02, 0.01, 15, {.alpha = 0.0125, .margin = 0.005}, -1), 0.9986794723364285, 1e-8);
}

TEST(PairedPower, WithoutALeastEstimateItIsTheTestAlone) {
  for (const std::size_t n : {2u, 5u, 15u, 60u}) {
    const TestPlan plan{.alpha = 0.02, .margin = 0.003};
    EXPECT_NEAR(paired_power_at_least(0.01, 0.012, n, plan, -10), paired_power(0.01, 0.012, n, plan), 1e-8) << n;
  }
  EXPECT_EQ(paired_power_at_least(0.01, 0, 5, {.margin = 0.005}, 0.01), 1);
  EXPECT_EQ(paired_power_at_least(0.01, 0, 5, {.margin = 0.005}, 0.011), 0);
  EXPECT_THROW(paired_power_at_least(0.01, 0.01, 5, {}, std::numeric_limits<double>::infinity()),
               std::invalid_argument);
}

TEST(PairedPower, IsTheShareThatTheTestFinds) {
  constexpr int rounds = 4000;
  int found = 0;
  for (int seed = 0; seed < rounds; ++seed) {
    found += paired_p_above(*paired(test::noise(8, 1.5, 1.0, 0.0, seed)), 0.5) < 0.05;
  }
  EXPECT_NEAR(found, paired_power(1.5, 1.0, 8, {.margin = 0.5}) * rounds, 0.02 * rounds);
}

TEST(PairsNeeded, CountedUpWithTheExactPower) {
  EXPECT_EQ(pairs_needed(0.02, 0.01), 4u);
  EXPECT_EQ(pairs_needed(0.01, 0.01), 8u);
  EXPECT_EQ(pairs_needed(0.02, 0.02, {.alpha = 0.01, .power = 0.9, .margin = 0.005}), 26u);
  EXPECT_EQ(pairs_needed(0.05, 0.001), 2u);
  EXPECT_EQ(pairs_needed(0.05, 0.0), 2u);
}

TEST(PairsNeeded, UnknownBeyondTheCapOrWithinTheMargin) {
  EXPECT_EQ(pairs_needed(0.01, 0.01, {}, 8), 8u);
  EXPECT_FALSE(pairs_needed(0.01, 0.01, {}, 7));
  EXPECT_FALSE(pairs_needed(0.01, 0.0, {}, 1));
  EXPECT_FALSE(pairs_needed(0.005, 0.01, {.margin = 0.005}));
  EXPECT_FALSE(pairs_needed(-0.01, 0.01));
}

TEST(PairedPower, BrokenContractsThrow) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(paired_mde(-0.01, 5), std::invalid_argument);
  EXPECT_THROW(paired_mde(0.01, 1), std::invalid_argument);
  EXPECT_THROW(paired_power(0.01, 0.01, 1), std::invalid_argument);
  EXPECT_THROW(paired_power(nan, 0.01, 5), std::invalid_argument);
  EXPECT_THROW(pairs_needed(nan, 0.01), std::invalid_argument);
  EXPECT_THROW(pairs_needed(0.01, nan), std::invalid_argument);
  for (const TestPlan& plan : {TestPlan{.alpha = 0.0}, TestPlan{.alpha = 0.5}, TestPlan{.power = 1.0},
                               TestPlan{.power = 0.05}, TestPlan{.alpha = nan}, TestPlan{.margin = nan}}) {
    EXPECT_THROW(paired_mde(0.01, 5, plan), std::invalid_argument);
    EXPECT_THROW(paired_power(0.01, 0.01, 5, plan), std::invalid_argument);
    EXPECT_THROW(pairs_needed(-1.0, 0.01, plan), std::invalid_argument);
  }
}

}  // namespace
}  // namespace stepgauge::stats
