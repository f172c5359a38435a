#include "stats/paired.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "series.hpp"

namespace stepgauge::stats {
namespace {

// Hours of sleep gained, second drug - first (Student 1908), his own example of the test.
const std::vector<double> sleep_hours{1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4};

// Expected values: mpmath 1.3 with 30 digits, t by the incomplete beta function. R prints t = 4.0621, df = 9 and
// two-sided p = 0.002833 for these data.
TEST(Paired, AgreesWithStudentsExample) {
  const auto sample = paired(sleep_hours);
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->n, 10u);
  EXPECT_EQ(sample->df, 9.0);
  EXPECT_NEAR(sample->mean, 1.58, 1e-14);
  EXPECT_NEAR(sample->sd, 1.22999548327987322, 1e-14);
  EXPECT_NEAR(sample->standard_error, 0.388958723888395244, 1e-14);
  EXPECT_NEAR(paired_p_above(*sample, 0.0), 0.00141644509869213637, 1e-14);
  EXPECT_NEAR(paired_p_above(*sample, 1.0), 0.0850558854487114430, 1e-13);
  const auto [lower, upper] = paired_interval(*sample, 0.95);
  EXPECT_NEAR(lower, 0.700114236723017201, 1e-12);
  EXPECT_NEAR(upper, 2.45988576327698280, 1e-12);
  EXPECT_NEAR(paired_upper_bound(*sample, 0.9), 2.11794109318773132, 1e-12);
}

TEST(Paired, TwoPairsAreEnough) {
  // df = 1 is the Cauchy distribution: mean 2, standard error 1, P(T > 2) = 1/2 - atan(2) / pi.
  const auto sample = paired(std::vector<double>{1.0, 3.0});
  ASSERT_TRUE(sample);
  EXPECT_NEAR(paired_p_above(*sample, 0.0), 0.147583617650433, 1e-14);
  EXPECT_FALSE(paired(std::vector<double>{1.0}));
  EXPECT_FALSE(paired({}));
}

TEST(Paired, WithoutSpreadTheMeanIsAFact) {
  // 0.1 cannot be summed without rounding: equal differences must not look like a spread or another mean.
  const auto sample = paired(std::vector<double>(7, 0.1));
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->sd, 0.0);
  EXPECT_EQ(sample->mean, 0.1);
  EXPECT_EQ(paired_p_above(*sample, 0.0999), 0.0);
  EXPECT_EQ(paired_p_above(*sample, 0.1), 1.0);
  EXPECT_EQ(paired_p_above(*sample, 0.2), 1.0);
  EXPECT_EQ(paired_interval(*sample, 0.95), (std::pair{0.1, 0.1}));
  EXPECT_EQ(paired_upper_bound(*sample, 0.95), 0.1);
}

TEST(Paired, SwappingTheArmsMirrorsTheTest) {
  std::vector<double> swapped = sleep_hours;
  for (double& hours : swapped) hours = -hours;
  const auto sample = *paired(sleep_hours);
  const auto mirror = *paired(swapped);
  EXPECT_NEAR(paired_p_above(mirror, -1.0), 1.0 - paired_p_above(sample, 1.0), 1e-14);
  EXPECT_NEAR(paired_interval(mirror, 0.9).first, -paired_interval(sample, 0.9).second, 1e-14);
}

TEST(Paired, UnitAndOrderDoNotMatter) {
  std::vector<double> other = sleep_hours;
  std::reverse(other.begin(), other.end());
  for (double& hours : other) hours *= 3600.0;
  const auto sample = *paired(sleep_hours);
  const auto seconds = *paired(other);
  EXPECT_NEAR(paired_p_above(seconds, 3600.0), paired_p_above(sample, 1.0), 1e-13);
  EXPECT_NEAR(paired_upper_bound(seconds, 0.9), 3600.0 * paired_upper_bound(sample, 0.9), 1e-9);
}

TEST(Paired, KeepsItsLevelWhenNothingChanged) {
  constexpr int rounds = 4000;
  int found = 0;
  for (int seed = 0; seed < rounds; ++seed) {
    found += paired_p_above(*paired(test::noise(5, 0.3, 1.0, 0.0, seed)), 0.3) < 0.05;
  }
  EXPECT_NEAR(found, 0.05 * rounds, 0.01 * rounds);
}

TEST(Paired, BrokenContractsThrow) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(paired(std::vector<double>{1.0, nan}), std::invalid_argument);
  EXPECT_THROW(paired(std::vector<double>{nan}), std::invalid_argument);
  const auto sample = *paired(sleep_hours);
  EXPECT_THROW(paired_p_above(sample, nan), std::invalid_argument);
  for (const double confidence : {0.0, 1.0, nan}) {
    EXPECT_THROW(paired_interval(sample, confidence), std::invalid_argument);
    EXPECT_THROW(paired_upper_bound(sample, confidence), std::invalid_argument);
  }
}

}  // namespace
}  // namespace stepgauge::stats
