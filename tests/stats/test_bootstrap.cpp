#include "stats/bootstrap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "series.hpp"
#include "stats/paired.hpp"
#include "stats/summary.hpp"

namespace stepgauge::stats {
namespace {

double mean_of(std::span<const double> values) {
  return *mean(values);
}

double median_of(std::span<const double> values) {
  return *median(values);
}

// Variance with divisor n.
double population_variance(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  return variance(values).value_or(0.0) * (n - 1.0) / n;
}

TEST(BcaInterval, OfTheSpatialTestData) {
  // Task A of the spatial test data; Efron and Tibshirani 1993, table 14.2, print 115.8 to 259.6 from 2,000
  // resamples. With 200,000 in plain Python: 115.75 to 261.70.
  const std::vector<double> scores{48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6,
                                   0,  33, 28, 34, 4,  32, 24, 47, 41, 24, 26, 30, 41};
  const auto interval = bca_interval(scores, population_variance, {.confidence = 0.9, .resamples = 40000, .seed = 3});
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->lower, 115.75, 1.5);
  EXPECT_NEAR(interval->upper, 261.7, 2.5);
}

TEST(BcaInterval, OfAMeanIsNearTheT) {
  const auto values = test::noise(60, 10.0, 1.0, 0.0, 4);
  const auto interval = *bca_interval(values, mean_of);
  const auto [lower, upper] = paired_interval(*paired(values), 0.95);
  EXPECT_NEAR(interval.lower, lower, 0.03);
  EXPECT_NEAR(interval.upper, upper, 0.03);
}

TEST(BcaInterval, CoversAMedian) {
  constexpr int rounds = 200;
  int covered = 0;
  for (int seed = 0; seed < rounds; ++seed) {
    const BootstrapRule rule{.confidence = 0.9, .resamples = 400, .seed = static_cast<std::uint64_t>(seed)};
    const auto interval = bca_interval(test::noise(31, 5.0, 1.0, 0.0, seed), median_of, rule);
    covered += interval && interval->lower <= 5.0 && 5.0 <= interval->upper;
  }
  EXPECT_NEAR(covered, 0.9 * rounds, 0.06 * rounds);
}

TEST(BcaInterval, UnitDirectionAndOrderDoNotMatter) {
  const auto values = test::noise(20, 3.0, 1.0, 0.0, 8);
  std::vector<double> other = values;
  std::reverse(other.begin(), other.end());
  const auto interval = *bca_interval(values, mean_of);
  EXPECT_EQ(bca_interval(other, mean_of)->lower, interval.lower);
  for (double& value : other) value *= 1024.0;
  EXPECT_EQ(bca_interval(other, mean_of)->upper, 1024.0 * interval.upper);
  // The mirrored sample meets other resamples: the same up to chance.
  for (double& value : other) value /= -1024.0;
  EXPECT_NEAR(bca_interval(other, mean_of)->lower, -interval.upper, 0.03);
}

TEST(BcaInterval, TheSameSeedGivesTheSameInterval) {
  const auto values = test::noise(20, 3.0, 1.0, 0.0, 8);
  EXPECT_EQ(bca_interval(values, mean_of, {.seed = 5})->lower, bca_interval(values, mean_of, {.seed = 5})->lower);
  EXPECT_NE(bca_interval(values, mean_of, {.seed = 5})->lower, bca_interval(values, mean_of, {.seed = 6})->lower);
}

TEST(BcaInterval, EqualValuesLeaveNoDoubt) {
  const auto interval = bca_interval(std::vector<double>(10, 0.1), mean_of);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->lower, 0.1, 1e-15);
  EXPECT_NEAR(interval->upper, 0.1, 1e-15);
}

TEST(BcaInterval, UnknownWhereResamplesTellNothing) {
  EXPECT_FALSE(bca_interval(std::vector<double>{1.0}, mean_of));
  EXPECT_FALSE(bca_interval({}, mean_of));
  // Each value once is the largest count of distinct values that a resample can have, and none of 100 has it.
  const auto distinct = [](std::span<const double> values) {
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    return static_cast<double>(std::unique(sorted.begin(), sorted.end()) - sorted.begin());
  };
  EXPECT_FALSE(bca_interval(test::noise(50, 0.0, 1.0, 0.0, 1), distinct, {.resamples = 100}));
}

TEST(BcaInterval, BrokenContractsThrow) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values{1.0, 2.0, 4.0};
  EXPECT_THROW(bca_interval(std::vector<double>{1.0, nan}, mean_of), std::invalid_argument);
  EXPECT_THROW(bca_interval(values, [&](std::span<const double>) { return nan; }), std::invalid_argument);
  EXPECT_THROW(bca_interval(values, mean_of, {.confidence = 1.0}), std::invalid_argument);
  EXPECT_THROW(bca_interval(values, mean_of, {.resamples = 99}), std::invalid_argument);
}

}  // namespace
}  // namespace stepgauge::stats
