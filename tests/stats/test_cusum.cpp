#include "stats/cusum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "series.hpp"
#include "stats/summary.hpp"

namespace stepgauge::stats {
namespace {

// +swing, -swing, ... about a level: median = level for an even count, MAD = swing.
std::vector<double> alternating(std::size_t nights, double swing, double level = 0.0) {
  std::vector<double> values(nights);
  for (std::size_t i = 0; i < nights; ++i) values[i] = level + (i % 2 == 0 ? swing : -swing);
  return values;
}

void append(std::vector<double>& values, std::size_t nights, double value) {
  values.insert(values.end(), nights, value);
}

TEST(Cusum, AddsUpClippedDeviations) {
  // sigma = 0.014826; 1 is far beyond the clip, so each such night adds 3.5 - 0.5 = 3: alarm at the third.
  auto values = alternating(30, 0.01);
  append(values, 5, 1.0);
  const auto result = cusum(values);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->model.begin, 0u);
  EXPECT_EQ(result->model.nights, 30u);
  EXPECT_NEAR(result->model.centre, 0.0, 1e-15);
  EXPECT_NEAR(result->model.sigma, 0.014826, 1e-12);
  // 29 products of -1 over 30 squares; no correction for a negative one.
  EXPECT_NEAR(result->model.r1, -29.0 / 30.0, 1e-12);
  ASSERT_EQ(result->alarms.size(), 1u);
  EXPECT_EQ(result->alarms[0].night, 32u);
  EXPECT_EQ(result->alarms[0].start, 30u);
  EXPECT_TRUE(result->alarms[0].upward);
}

TEST(Cusum, OneWildNightIsNoShift) {
  auto values = alternating(35, 0.01);
  values[31] = 50.0;
  EXPECT_TRUE(cusum(values)->alarms.empty());
}

TEST(Cusum, TheFloorStandsInForNoSpread) {
  // z = 1.9 adds 1.4 a night: 7 after five nights, 8.4 after six.
  std::vector<double> values(40, 1.0);
  append(values, 5, 1.0038);
  EXPECT_EQ(cusum(values)->model.sigma, 0.002);
  EXPECT_TRUE(cusum(values)->alarms.empty());
  append(values, 1, 1.0038);
  ASSERT_EQ(cusum(values)->alarms.size(), 1u);
  EXPECT_EQ(cusum(values)->alarms[0].night, 45u);
  EXPECT_EQ(cusum(values)->alarms[0].start, 40u);
  // z below 0.5 never adds anything.
  EXPECT_TRUE(cusum(values, {}, {.floor = 0.008})->alarms.empty());
}

TEST(Cusum, CorrelatedNightsWidenSigma) {
  // Six blocks of five: 24 products of 1 and 5 of -1 over 30 squares.
  std::vector<double> values;
  for (int block = 0; block < 7; ++block) append(values, 5, block % 2 == 0 ? 0.01 : -0.01);
  const double r1 = 19.0 / 30.0;
  EXPECT_NEAR(cusum(values)->model.r1, r1, 1e-12);
  EXPECT_NEAR(cusum(values)->model.sigma, 0.014826 * std::sqrt((1.0 + r1) / (1.0 - r1)), 1e-12);
  // Two blocks of 30: 57 / 60 is taken as 0.9.
  std::vector<double> slow(30, 0.01);
  append(slow, 30, -0.01);
  append(slow, 5, 0.0);
  EXPECT_NEAR(cusum(slow, {}, {.model_nights = 65})->model.r1, 0.95, 1e-12);
  EXPECT_NEAR(cusum(slow, {}, {.model_nights = 65})->model.sigma, 0.014826 * std::sqrt(19.0), 1e-12);
}

TEST(Cusum, OneWildNightDoesNotDecideTheCorrelation) {
  auto values = alternating(35, 0.01);
  values[10] = 50.0;
  // 27 products of 0.01^2, two with the night at 3.5 sigma; 29 squares of 0.01 and that one's.
  const double wild = 3.5 * 0.014826;
  EXPECT_NEAR(cusum(values)->model.r1, (-27e-4 - 0.02 * wild) / (29e-4 + wild * wild), 1e-12);
}

TEST(Cusum, TheRangeCountsWhereTheMadIsBlind) {
  // 20 of 30 nights are equal, so the MAD is 0; Q05 = -0.36 and Q95 = 0.36.
  std::vector<double> values;
  for (int i = 0; i < 5; ++i) {
    append(values, 2, 0.0);
    append(values, 1, 0.36);
    append(values, 2, 0.0);
    append(values, 1, -0.36);
  }
  append(values, 5, 0.0);
  EXPECT_NEAR(cusum(values)->model.sigma, 0.2, 1e-12);
}

TEST(Cusum, AnAcknowledgedChangeBeginsANewLevel) {
  auto values = alternating(40, 0.03);
  const auto later = alternating(35, 0.01, 1.0);
  values.insert(values.end(), later.begin(), later.end());
  EXPECT_FALSE(cusum(std::span(values).first(46))->alarms.empty());
  const std::vector<std::size_t> acknowledged{40};
  const auto result = cusum(values, acknowledged);
  EXPECT_TRUE(result->alarms.empty());
  EXPECT_EQ(result->model.begin, 40u);
  EXPECT_NEAR(result->model.centre, 1.0, 1e-15);
  // Pooled: 40 residuals of 0.03 outnumber 30 of 0.01.
  EXPECT_NEAR(result->model.sigma, mad_to_sd * 0.03, 1e-12);
  // Each segment has its own median.
  const auto last = alternating(35, 0.02, 9.0);
  values.insert(values.end(), last.begin(), last.end());
  const auto third = cusum(values, std::vector<std::size_t>{40, 75});
  EXPECT_NEAR(third->model.centre, 9.0, 1e-14);
  EXPECT_LT(third->model.sigma, 0.05);
}

TEST(Cusum, FewNightsAreShownButRaiseNoAlarm) {
  auto values = alternating(24, 0.01);
  append(values, 5, 1.0);
  ASSERT_TRUE(cusum(values));
  EXPECT_TRUE(cusum(values)->alarms.empty());
  append(values, 1, 1.0);
  EXPECT_FALSE(cusum(values)->alarms.empty());
  EXPECT_TRUE(cusum(alternating(10, 0.01)));
  EXPECT_FALSE(cusum(alternating(9, 0.01)));
  EXPECT_FALSE(cusum({}));
}

TEST(Cusum, OnlyTheLatestNightsCount) {
  auto values = alternating(40, 0.01, 5.0);
  const auto later = alternating(65, 0.01);
  values.insert(values.end(), later.begin(), later.end());
  const auto result = cusum(values, {}, {.model_nights = 65});
  EXPECT_EQ(result->model.begin, 40u);
  EXPECT_NEAR(result->model.sigma, 0.014826, 1e-12);
  EXPECT_TRUE(result->alarms.empty());
  // Nights are counted in the whole series.
  std::fill(values.end() - 4, values.end(), 1.0);
  const auto raised = cusum(values, {}, {.model_nights = 65});
  ASSERT_EQ(raised->alarms.size(), 1u);
  EXPECT_EQ(raised->alarms[0].night, 103u);
  EXPECT_EQ(raised->alarms[0].start, 100u);
}

TEST(Cusum, EachExcursionAlarmsOnce) {
  auto values = test::noise(150, 0.0, 0.01, 0.0, 6);
  for (const std::size_t first : {60u, 130u}) {
    for (std::size_t i = first; i < first + 3; ++i) values[i] += 0.1;
  }
  const auto alarms = cusum(values, {}, {.model_nights = 150})->alarms;
  ASSERT_EQ(alarms.size(), 2u);
  EXPECT_NEAR(static_cast<double>(alarms[0].start), 60.0, 2.0);
  EXPECT_NEAR(static_cast<double>(alarms[1].start), 130.0, 2.0);
}

TEST(Cusum, UnitAndDirectionDoNotMatter) {
  auto values = test::noise(60, 0.0, 0.01, 0.0, 11);
  for (std::size_t i = 50; i < 60; ++i) values[i] += 0.04;
  const auto result = *cusum(values);
  std::vector<double> other = values;
  for (double& value : other) value = 7.0 - 4.0 * value;
  const auto mirrored = *cusum(other, {}, {.floor = 0.008});
  EXPECT_NEAR(mirrored.model.sigma, 4.0 * result.model.sigma, 1e-12);
  ASSERT_EQ(result.alarms.size(), 1u);
  ASSERT_EQ(mirrored.alarms.size(), 1u);
  EXPECT_EQ(mirrored.alarms[0].night, result.alarms[0].night);
  EXPECT_EQ(mirrored.alarms[0].start, result.alarms[0].start);
  EXPECT_TRUE(result.alarms[0].upward);
  EXPECT_FALSE(mirrored.alarms[0].upward);
}

// Nights until an alarm of this night or later shows, judged anew each night for 30 nights; 0 for none.
std::size_t nights_to_alarm(std::span<const double> values, std::size_t known) {
  for (std::size_t n = known + 1; n <= values.size(); ++n) {
    const auto result = *cusum(values.first(n));
    for (const CusumAlarm& alarm : result.alarms) {
      if (alarm.night >= known) return n - known;
    }
  }
  return 0;
}

TEST(Cusum, FindsShiftsAndIsQuietOtherwise) {
  constexpr int rounds = 400;
  int false_alarms = 0;
  int found = 0;
  double nights = 0.0;
  for (int seed = 0; seed < rounds; ++seed) {
    auto values = test::noise(90, 1.0, 0.01, 0.0, seed);
    false_alarms += nights_to_alarm(values, 60) > 0;
    for (std::size_t i = 60; i < values.size(); ++i) values[i] += 0.03;
    const std::size_t wait = nights_to_alarm(values, 60);
    found += wait > 0;
    nights += static_cast<double>(wait);
  }
  EXPECT_LE(false_alarms, 0.04 * rounds);
  EXPECT_GE(found, 0.98 * rounds);
  EXPECT_LT(nights / found, 5.0);
}

TEST(Cusum, BrokenContractsThrow) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto values = alternating(40, 0.01);
  EXPECT_THROW(cusum(std::vector<double>{1.0, nan}), std::invalid_argument);
  for (const std::vector<std::size_t>& acknowledged : {std::vector<std::size_t>{0}, {40}, {20, 20}, {20, 10}}) {
    EXPECT_THROW(cusum(values, acknowledged), std::invalid_argument);
  }
  for (const CusumRule& rule :
       {CusumRule{.floor = 0.0}, CusumRule{.floor = nan}, CusumRule{.model_nights = 29}, CusumRule{.alarm_nights = 9},
        CusumRule{.clip = 0.5}, CusumRule{.slack = -0.1}, CusumRule{.threshold = 0.0}}) {
    EXPECT_THROW(cusum(values, {}, rule), std::invalid_argument);
  }
}

}  // namespace
}  // namespace stepgauge::stats
