// A trend that cries wolf is switched off; one that sleeps, or forgets, lets losses in for good.
#include "verdict/trend.hpp"

#include <gtest/gtest.h>

#include "nights.hpp"

namespace stepgauge::verdict {
namespace {

using testing::Nights;

const TrendAlarm& only_alarm(const Trend& trend) {
  static const TrendAlarm none;
  EXPECT_EQ(trend.rows.at(0).alarms.size(), 1u);
  return trend.rows[0].alarms.empty() ? none : trend.rows[0].alarms[0];
}

TEST(Trend, NoiseIsQuiet) {
  const auto trend = Nights("throughput", 200).judge();
  EXPECT_EQ(trend.exit_code, ExitCode::nothing_worse);
  const auto& row = trend.rows.at(0);
  EXPECT_EQ(row.state, TrendState::quiet);
  EXPECT_TRUE(row.alarms.empty());
  EXPECT_EQ(row.nights, 200u);
  EXPECT_NEAR(*row.centre, 100, 0.3);
  EXPECT_NEAR(*row.noise, 0.005, 0.0015);
  EXPECT_NEAR(*row.threshold, 0.02, 1e-12);
}

TEST(Trend, AShiftIsFoundPlacedAndNamed) {
  const auto trend = Nights("throughput", 60).add(12, 97).judge();
  EXPECT_EQ(trend.exit_code, ExitCode::regression);
  EXPECT_EQ(trend.rows[0].state, TrendState::alarm);
  const auto& alarm = only_alarm(trend);
  EXPECT_TRUE(alarm.worse && alarm.blocks && alarm.localised);
  EXPECT_EQ(alarm.change, 60u);
  EXPECT_EQ(alarm.last_good, 59u);
  EXPECT_EQ(alarm.first_bad, 60u);
  EXPECT_LE(alarm.night, 63u);
  EXPECT_NEAR(alarm.size, -0.03, 0.005);
  EXPECT_LT(*alarm.ci_lower, -0.03);
  EXPECT_GT(*alarm.ci_upper, -0.03);
  EXPECT_LT(*alarm.ci_upper, -0.02);
  EXPECT_NEAR(*trend.rows[0].noise, 0.005, 0.0015) << "of one level, not of both";
  EXPECT_NEAR(*trend.rows[0].change, -0.03, 0.015);
}

TEST(Trend, AYoungShiftHasAWideRange) {
  const auto trend = Nights("throughput", 60).add(4, 97).judge();
  const auto& alarm = only_alarm(trend);
  EXPECT_TRUE(alarm.blocks);
  EXPECT_FALSE(alarm.localised);
  EXPECT_LE(alarm.last_good, 59u);
  EXPECT_GE(alarm.first_bad, 62u);
}

TEST(Trend, WorseIsTheMetricsOwnDirection) {
  const auto faster = Nights("throughput", 60).add(12, 103).judge();
  EXPECT_EQ(faster.exit_code, ExitCode::nothing_worse);
  EXPECT_FALSE(only_alarm(faster).worse);
  EXPECT_EQ(faster.rows[0].state, TrendState::alarm);
  const auto later = Nights("first_step_latency", 60).add(12, 120).judge();
  EXPECT_EQ(later.exit_code, ExitCode::regression);
  EXPECT_NEAR(only_alarm(later).size, 0.2, 0.01);
  EXPECT_EQ(Nights("first_step_latency", 60).add(12, 80).judge().exit_code, ExitCode::nothing_worse);
}

TEST(Trend, AnAdvisoryMetricNeverBlocks) {
  const auto trend = Nights("step_time", 60).add(12, 110).judge();
  EXPECT_EQ(trend.exit_code, ExitCode::nothing_worse);
  EXPECT_EQ(trend.rows[0].state, TrendState::alarm);
  EXPECT_TRUE(only_alarm(trend).worse);
}

TEST(Trend, ALossInTheFirstNightsIsNotTakenForNoise) {
  for (const int night : {12, 15, 20, 25}) {
    Nights nights("throughput", night);
    nights.add(60 - night, 90);
    const auto trend = nights.judge();
    ASSERT_EQ(trend.exit_code, ExitCode::regression) << night;
    EXPECT_EQ(trend.rows[0].alarms.at(0).change, static_cast<std::size_t>(night));
    nights.add(60, 90);
    EXPECT_EQ(nights.judge().exit_code, ExitCode::regression) << "nobody acknowledged it; " << night;
  }
}

TEST(Trend, FewNightsAreOnlyShown) {
  const auto trend = Nights("throughput", 24).add(5, 50).judge();
  EXPECT_EQ(trend.exit_code, ExitCode::not_comparable);
  EXPECT_EQ(trend.rows[0].state, TrendState::shown);
  EXPECT_EQ(trend.rows[0].reason, "only shown: 29 nights < 30");
  EXPECT_TRUE(trend.rows[0].alarms.empty());
  EXPECT_EQ(Nights("throughput", 30).judge().exit_code, ExitCode::nothing_worse);
}

TEST(Trend, LessThanHalfTheToleranceIsSmall) {
  const auto trend = Nights("throughput", 60, 0.001).add(20, 99.3, 0.001).judge();
  EXPECT_EQ(trend.exit_code, ExitCode::nothing_worse);
  EXPECT_EQ(trend.rows[0].state, TrendState::quiet);
  EXPECT_TRUE(only_alarm(trend).small);
  const auto more = Nights("throughput", 60, 0.001).add(20, 98.7, 0.001).judge();
  EXPECT_TRUE(only_alarm(more).blocks);
}

TEST(Trend, TheCellsOwnToleranceHolds) {
  Nights nights("throughput", 60);
  nights.add(12, 97).series().tolerance = {0.10, std::nullopt};
  EXPECT_TRUE(only_alarm(nights.judge()).small);
  nights.series().tolerance = {std::nullopt, 8.0};  // of 100
  EXPECT_NEAR(*nights.judge().rows[0].threshold, 0.08, 0.002);
  EXPECT_EQ(nights.judge().exit_code, ExitCode::nothing_worse);
}

TEST(Trend, WhatWasMendedIsOver) {
  const auto trend = Nights("throughput", 60).add(10, 96).add(6, 100).judge();
  EXPECT_EQ(trend.exit_code, ExitCode::nothing_worse);
  EXPECT_TRUE(only_alarm(trend).over);
  EXPECT_EQ(trend.rows[0].state, TrendState::quiet);
}

TEST(Trend, WhatNobodyAcknowledgedIsNotForgotten) {
  const auto trend = Nights("throughput", 60).add(300, 97).judge();
  EXPECT_EQ(trend.exit_code, ExitCode::regression);
  EXPECT_EQ(only_alarm(trend).change, 60u);
}

TEST(Trend, ASecondLossIsFoundAfterTheFirst) {
  const auto trend = Nights("throughput", 60).add(50, 97).add(20, 94).judge();
  ASSERT_EQ(trend.rows[0].alarms.size(), 2u);
  EXPECT_EQ(trend.rows[0].alarms[0].change, 60u);
  EXPECT_EQ(trend.rows[0].alarms[1].change, 110u);
  EXPECT_NEAR(trend.rows[0].alarms[1].size, 94.0 / 97 - 1, 0.005);
}

TEST(Trend, TheNewLevelIsWatchedFromItsOwnThirtiethNightOn) {
  const auto trend = Nights("throughput", 60).add(35, 97).add(8, 94).judge();
  ASSERT_EQ(trend.rows[0].alarms.size(), 2u);
  EXPECT_EQ(trend.rows[0].alarms[1].change, 95u);
}

// When most nights are at the new level, the old ones look odd: no news.
TEST(Trend, ALossIsNeverReadBackwards) {
  for (std::size_t nights = 40; nights < 80; ++nights) {
    const auto trend = Nights("throughput", nights, 0.01).add(80, 98.9, 0.01).judge();
    for (const auto& alarm : trend.rows[0].alarms) EXPECT_TRUE(alarm.worse) << nights << ' ' << alarm.change;
  }
}

// An alarm that is there tonight and gone tomorrow, with no better nights between, cannot be trusted.
TEST(Trend, AnAlarmStays) {
  const auto all = Nights("throughput", 45).add(60, 98);
  bool alarmed = false;
  for (std::size_t end = 46; end <= all.input.nights.size(); ++end) {
    auto part = all.input;
    part.nights.resize(end);
    part.series[0].tip.resize(end);
    part.series[0].reference.resize(end);
    const bool now = judge_trend(part).exit_code == ExitCode::regression;
    EXPECT_TRUE(now || !alarmed) << end;
    alarmed = alarmed || now;
  }
  EXPECT_TRUE(alarmed);
}

TEST(Trend, OneWildNightIsShownAndASecondBlocks) {
  const auto jump = Nights("throughput", 60).add_night(90).judge();
  EXPECT_EQ(jump.rows[0].state, TrendState::alarm);
  EXPECT_EQ(only_alarm(jump).kind, AlarmKind::jump);
  EXPECT_EQ(only_alarm(jump).change, 60u);
  EXPECT_TRUE(only_alarm(jump).single);
  EXPECT_EQ(jump.exit_code, ExitCode::nothing_worse) << "2 % of nights are like that";
  const auto again = Nights("throughput", 60).add_night(90).add_night(90).judge();
  EXPECT_EQ(again.exit_code, ExitCode::regression);
  EXPECT_EQ(only_alarm(again).change, 60u);
  EXPECT_EQ(only_alarm(again).last_good, 59u);
  const auto gone = Nights("throughput", 60).add_night(90).add(3, 100).judge();
  EXPECT_TRUE(gone.rows[0].alarms.empty());
  EXPECT_TRUE(Nights("throughput", 60).add_night(96.5).judge().rows[0].alarms.empty())
      << "seven times the noise, but not twice the tolerance";
}

TEST(Trend, WhatNeverVariesNeedsNoStatistics) {
  const auto grown = Nights("peak_memory", 40, 0, 10000).add_night(10150).judge();
  EXPECT_EQ(grown.exit_code, ExitCode::regression);
  EXPECT_NEAR(only_alarm(grown).size, 0.015, 1e-9);
  EXPECT_EQ(Nights("peak_memory", 40, 0, 10000).add_night(10050).judge().exit_code, ExitCode::nothing_worse);
  EXPECT_EQ(Nights("peak_memory", 40, 0, 1000).add_night(1050).judge().exit_code, ExitCode::nothing_worse)
      << "below the floor of 64 MiB";
}

TEST(Trend, PointsAreJudgedInTheirUnit) {
  Nights nights("stall_ratio", 60, 0.02, 10);  // percent; noise 0.2 points, floor 1 point
  nights.add(15, 13, 0.02);
  const auto trend = nights.judge();
  EXPECT_EQ(trend.exit_code, ExitCode::nothing_worse) << "advisory";
  EXPECT_NEAR(only_alarm(trend).size, 3, 0.3);
  EXPECT_TRUE(only_alarm(trend).worse);
  EXPECT_EQ(only_alarm(trend).change, 60u);
  EXPECT_NEAR(*trend.rows[0].threshold, 1.0, 1e-12);
  Nights zero("idle_ratio", 40, 0, 0);
  EXPECT_EQ(zero.judge().rows[0].state, TrendState::quiet);
}

TEST(Trend, NoLogarithmOfNothing) {
  Nights nights("throughput", 40);
  nights.add_night(0);
  const auto trend = nights.judge();
  EXPECT_EQ(trend.rows[0].state, TrendState::vanished);
  EXPECT_EQ(trend.rows[0].nights, 40u);
}

}  // namespace
}  // namespace stepgauge::verdict
