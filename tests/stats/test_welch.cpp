#include "stats/welch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <limits>
#include <stdexcept>
#include <vector>

#include "series.hpp"
#include "stats/mde.hpp"

namespace stepgauge::stats {
namespace {

const std::vector<double> base{101.2, 99.8, 100.5, 102.1, 98.9};
const std::vector<double> head{104.0, 103.1, 106.2, 102.7, 105.5, 104.9, 103.8};

// Expected values: scipy 1.17.1, scipy.stats.ttest_ind(head, base, equal_var=False[, alternative='greater'])
// and its confidence_interval(level); for ratio on np.log of both.
TEST(Welch, RatioScaleAgreesWithScipy) {
  const auto sample = compare(base, head, Scale::ratio);
  ASSERT_TRUE(sample);
  EXPECT_NEAR(sample->diff, 0.03724709584284547, 1e-13);
  EXPECT_NEAR(*sample->standard_error, 0.007175393129355899, 1e-13);
  EXPECT_NEAR(*sample->df, 8.732859551490941, 1e-9);
  EXPECT_NEAR(*p_greater(*sample), 0.0003144145852503163, 1e-12);
  EXPECT_NEAR(*p_greater(*sample, 0.01), 0.002237148494848946, 1e-12);
  const auto interval = confidence_interval(*sample, 0.95);
  EXPECT_NEAR(interval->lower, 0.02093922274781809, 1e-12);
  EXPECT_NEAR(interval->upper, 0.05355496893787284, 1e-12);
  EXPECT_NEAR(confidence_interval(*sample, 0.9)->lower, 0.02404783201951647, 1e-12);
  EXPECT_EQ(sample->n_base, 5u);
  EXPECT_EQ(sample->n_head, 7u);
  EXPECT_FALSE(sample->exact);
}

TEST(Welch, PointsScaleAgreesWithScipy) {
  const auto sample = compare(base, head, Scale::points);
  ASSERT_TRUE(sample);
  EXPECT_NEAR(sample->diff, 3.8142857142857025, 1e-12);
  EXPECT_NEAR(*sample->standard_error, 0.7328770998860683, 1e-12);
  EXPECT_NEAR(*sample->df, 8.949368820828862, 1e-9);
  EXPECT_NEAR(*p_greater(*sample), 0.0002854680472896651, 1e-12);
  const auto interval = confidence_interval(*sample, 0.95);
  EXPECT_NEAR(interval->lower, 2.1549716627270707, 1e-11);
  EXPECT_NEAR(interval->upper, 5.473599765844334, 1e-11);
}

TEST(Welch, MirroredIsTheComparisonTheOtherWayRound) {
  const auto sample = mirrored(*compare(base, head, Scale::ratio));
  const auto swapped = compare(head, base, Scale::ratio);
  EXPECT_DOUBLE_EQ(sample.diff, swapped->diff);
  EXPECT_LT(sample.diff, 0.0);
  EXPECT_EQ(sample.n_base, swapped->n_base);
  EXPECT_EQ(sample.n_head, swapped->n_head);
  EXPECT_NEAR(*sample.df, *swapped->df, 1e-12);
  EXPECT_NEAR(*p_greater(sample), 1.0 - 0.0003144145852503163, 1e-12);
}

TEST(Welch, OneFlatArmLeavesTheErrorOfTheOther) {
  // scipy 1.17.1: ttest_ind(head, [100] * 4, equal_var=False, alternative='greater')
  const auto sample = compare(std::vector<double>(4, 100.0), head, Scale::points);
  ASSERT_TRUE(sample);
  EXPECT_FALSE(sample->exact);
  EXPECT_NEAR(*sample->df, 6.0, 1e-12);
  EXPECT_NEAR(*sample->standard_error, 0.48177675695016203, 1e-13);
  EXPECT_NEAR(*p_greater(*sample), 5.414559348614481e-05, 1e-13);
}

TEST(Welch, TwoFlatArmsAreExactAndNotTested) {
  const auto sample = compare(std::vector<double>(3, 0.1), std::vector<double>(7, 0.2), Scale::ratio);
  ASSERT_TRUE(sample);
  EXPECT_TRUE(sample->exact);
  EXPECT_NEAR(sample->diff, std::log(2.0), 1e-15);
  EXPECT_FALSE(sample->standard_error);
  EXPECT_FALSE(sample->df);
  EXPECT_FALSE(p_greater(*sample));
  EXPECT_FALSE(confidence_interval(*sample, 0.95));
}

TEST(Welch, OneLaunchHasADifferenceButNoCertainty) {
  const std::vector<double> one{100.0};
  for (const auto& sample : {compare(one, head, Scale::ratio), compare(head, one, Scale::ratio),
                             compare(one, one, Scale::ratio), compare(one, {}, Scale::points)}) {
    if (!sample) continue;
    EXPECT_FALSE(sample->exact);
    EXPECT_FALSE(sample->standard_error);
    EXPECT_FALSE(confidence_interval(*sample, 0.95));
    EXPECT_FALSE(p_greater(*sample));
  }
  EXPECT_DOUBLE_EQ(compare(one, std::vector<double>{104.0}, Scale::points)->diff, 4.0);
}

TEST(Welch, WhatHasNoDifferenceIsUnknown) {
  EXPECT_FALSE(compare({}, head, Scale::points));
  EXPECT_FALSE(compare(head, {}, Scale::points));
  const std::vector<double> zeros{0.0, 1.0};
  EXPECT_FALSE(compare(zeros, head, Scale::ratio));
  EXPECT_FALSE(compare(head, zeros, Scale::ratio));
  EXPECT_TRUE(compare(zeros, head, Scale::points));
}

TEST(Welch, RelativeEffectUndoesTheLogarithm) {
  const auto sample = compare(std::vector<double>{100.0, 100.0}, std::vector<double>{105.0, 105.0}, Scale::ratio);
  EXPECT_NEAR(relative_effect(sample->diff), 0.05, 1e-14);
  EXPECT_NEAR(relative_effect(std::log(0.5)), -0.5, 1e-14);
}

TEST(Welch, FalseAlarmsAndCoverageKeepTheirLevelsWithUnequalArms) {
  constexpr int rounds = 4000;
  int alarms = 0;
  int covered = 0;
  for (int seed = 0; seed < rounds; ++seed) {
    const auto sample = compare(test::noise(8, 100.0, 3.0, 0.0, 2 * seed),
                                test::noise(15, 100.0, 1.0, 0.0, 2 * seed + 1), Scale::points);
    alarms += *p_greater(*sample) < 0.05;
    const auto interval = confidence_interval(*sample, 0.9);
    covered += interval->lower <= 0.0 && interval->upper >= 0.0;
  }
  EXPECT_NEAR(alarms, 0.05 * rounds, 4.0 * std::sqrt(0.05 * 0.95 * rounds));
  EXPECT_NEAR(covered, 0.9 * rounds, 4.0 * std::sqrt(0.9 * 0.1 * rounds));
}

TEST(Welch, AMillionValuesTakeWellUnderASecond) {
  const auto one = test::noise(100, 100.0, 1.0, 0.0, 1);
  const auto other = test::noise(100, 101.0, 1.0, 0.0, 2);
  const std::clock_t start = std::clock();  // processor time: other processes do not count
  double sink = 0.0;
  for (int row = 0; row < 5000; ++row) {
    const auto sample = compare(one, other, Scale::ratio);
    sink += *p_greater(*sample) + confidence_interval(*sample, 0.95)->upper + *minimum_detectable_effect(*sample);
  }
  const double took_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_GT(sink, 0.0);
  EXPECT_LT(took_s, 1.0);
}

TEST(Welch, BrokenContractsThrow) {
  const std::vector<double> bad{1.0, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THROW(compare(bad, head, Scale::points), std::invalid_argument);
  EXPECT_THROW(compare(head, bad, Scale::ratio), std::invalid_argument);
  const auto sample = compare(base, head, Scale::ratio);
  EXPECT_THROW(confidence_interval(*sample, 0.0), std::invalid_argument);
  EXPECT_THROW(confidence_interval(*sample, 1.0), std::invalid_argument);
  EXPECT_THROW(p_greater(*sample, bad[1]), std::invalid_argument);
  EXPECT_THROW(relative_effect(bad[1]), std::invalid_argument);
}

}  // namespace
}  // namespace stepgauge::stats
