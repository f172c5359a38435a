// The weekly pass says where a quiet series moved; it must not cry wolf, block, or say twice what was acknowledged.
#include <gtest/gtest.h>

#include "nights.hpp"
#include "verdict/detail/calendar.hpp"

namespace stepgauge::verdict {
namespace {

using testing::Nights;

Trend searched(const Nights& nights) {
  TrendPolicy policy;
  policy.changes = ChangeSearch::always;
  return judge_trend(nights.input, policy);
}

/// A loss that is over, and so small against its noise that no alarm is left standing.
Nights dip() {
  Nights nights("throughput", 60, 0.002);
  nights.add(12, 98.7, 0.002).add(12, 100, 0.002);
  return nights;
}

TEST(TrendChanges, WeeksBeginOnMondayInUtc) {
  using detail::in_different_weeks;
  EXPECT_FALSE(in_different_weeks("2026-11-23T00:00:00Z", "2026-11-29T23:59:59Z")) << "Monday to Sunday";
  EXPECT_TRUE(in_different_weeks("2026-11-29T23:59:59Z", "2026-11-30T00:00:00Z"));
  EXPECT_TRUE(in_different_weeks("2026-11-25T02:00:00Z", "2026-12-02T02:00:00Z")) << "the same day of another week";
  EXPECT_FALSE(in_different_weeks("2025-12-29T02:00:00Z", "2026-01-04T02:00:00Z")) << "one week, two years";
  EXPECT_FALSE(in_different_weeks("soon", "2026-01-04T02:00:00Z"));
}

TEST(TrendChanges, SearchedOnceAWeekOrWhenAsked) {
  Nights nights("throughput", 40);
  std::size_t weeks = 0;
  for (int day = 0; day < 14; ++day) weeks += nights.add(1, 100).judge().changes.has_value();
  EXPECT_EQ(weeks, 2u);
  EXPECT_TRUE(searched(nights).changes.has_value());
  EXPECT_FALSE(Nights("throughput", 1).judge().changes.has_value());
}

TEST(TrendChanges, AChangeOfAQuietSeriesIsPlacedAndNamed) {
  const auto trend = searched(dip());
  ASSERT_EQ(trend.rows.at(0).state, TrendState::quiet) << "else this test says nothing";
  EXPECT_EQ(trend.exit_code, ExitCode::nothing_worse) << "it blocks nothing";
  const auto young = searched(Nights("throughput", 15, 0.003).add(8, 97, 0.003));
  ASSERT_EQ(young.rows[0].state, TrendState::shown);
  ASSERT_EQ(young.changes->size(), 1u);
  const auto& change = young.changes->at(0).change;
  EXPECT_EQ(change.night, 15u);
  EXPECT_EQ(change.last_good, 14u);
  EXPECT_TRUE(change.localised && change.worse);
  EXPECT_NEAR(change.before, 100, 0.3);
  EXPECT_NEAR(change.after, 97, 0.3);
  EXPECT_NEAR(change.size, -0.03, 0.004);
  EXPECT_LT(*change.ci_lower, change.size);
  EXPECT_GT(*change.ci_upper, change.size);
  EXPECT_EQ(young.exit_code, ExitCode::not_comparable);
}

TEST(TrendChanges, FewNightsNameNoCommit) {
  const auto trend = searched(Nights("throughput", 20, 0.001).add(4, 97, 0.001));
  ASSERT_EQ(trend.changes->size(), 1u);
  EXPECT_FALSE(trend.changes->at(0).change.localised);
  EXPECT_TRUE(searched(Nights("throughput", 20, 0.001).add(1, 97, 0.001)).changes->empty()) << "one odd night";
  EXPECT_TRUE(searched(Nights("throughput", 5, 0.001).add(4, 97, 0.001)).changes->empty()) << "ten nights at least";
}

TEST(TrendChanges, LessThanHalfTheToleranceIsNoChange) {
  EXPECT_TRUE(searched(Nights("throughput", 15, 0.001).add(8, 99.3, 0.001)).changes->empty());
  EXPECT_EQ(searched(Nights("throughput", 15, 0.001).add(8, 98.8, 0.001)).changes->size(), 1u);
  Nights points("stall_ratio", 15, 0.005, 10);  // noise of 0.05 points, floor of 1
  EXPECT_EQ(searched(Nights(points).add(8, 10.8, 0.005)).changes->size(), 1u);
  EXPECT_TRUE(searched(Nights(points).add(8, 10.3, 0.005)).changes->empty());
}

TEST(TrendChanges, ASeriesThatWandersIsNotSplitAgainAndAgain) {
  std::mt19937 random(3);
  std::normal_distribution<> normal(0, 0.01);
  constexpr double r = 0.6;
  std::size_t listed = 0;
  for (int series = 0; series < 100; ++series) {
    Nights nights;
    double wander = normal(random);
    for (int night = 0; night < 100; ++night) {
      nights.add_night(100 * std::exp(wander));
      wander = r * wander + std::sqrt(1 - r * r) * normal(random);
    }
    listed += !searched(nights).changes->empty();
  }
  EXPECT_LE(listed, 20u) << "more than half, if its nights were taken for independent";
}

TEST(TrendChanges, WhatAnAlarmToldIsNotToldAgain) {
  EXPECT_TRUE(searched(Nights("throughput", 60).add(12, 97)).changes->empty()) << "an alarm stands";
  const auto over = searched(Nights("throughput", 60).add(10, 96).add(8, 100));
  ASSERT_EQ(over.rows[0].alarms.size(), 1u);
  ASSERT_EQ(over.rows[0].state, TrendState::quiet);
  for (const auto& item : *over.changes) EXPECT_FALSE(item.change.worse) << "the loss itself was an alarm";
}

TEST(TrendChanges, AnAcknowledgedChangeIsNotRepeated) {
  Nights nights("throughput", 15, 0.003);
  nights.add(12, 97, 0.003).series().known = {{15, "known", "ada"}};
  EXPECT_TRUE(searched(nights).changes->empty());
}

TEST(TrendChanges, OnlyTheLastHundredNights) {
  Nights nights("throughput", 35, 0.002);
  nights.add(12, 98.7, 0.002).add(8, 100, 0.002);
  ASSERT_FALSE(searched(nights).changes->empty());
  nights.add(110, 100, 0.002);
  const auto later = searched(nights);
  for (const auto& item : *later.changes) EXPECT_GE(item.change.night, 65u);
}

}  // namespace
}  // namespace stepgauge::verdict
