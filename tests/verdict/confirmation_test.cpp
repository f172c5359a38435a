// A confirmation that is asked the wrong question lets losses in, or keeps a quiet night red for ever.
#include "verdict/confirmation.hpp"

#include <gtest/gtest.h>

#include <random>

#include "gate_cells.hpp"
#include "nights.hpp"

namespace stepgauge::verdict {
namespace {

using testing::Nights;

Nights loss() {
  Nights nights("throughput", 60);
  nights.add(12, 97);
  return nights;
}

TrendConfirmation measured(ConfirmationVerdict verdict, std::size_t last_good = 59, std::size_t first_bad = 60,
                           double alarm_size = -0.03) {
  TrendConfirmation out;
  out.verdict = verdict;
  out.last_good = last_good;
  out.first_bad = first_bad;
  out.alarm_size = alarm_size;
  out.pairs = 15;
  out.at = "2020-03-13T02:00:00Z";
  return out;
}

Trend with(const std::vector<TrendConfirmation>& confirmations, Nights nights = loss()) {
  nights.series().confirmations = confirmations;
  return nights.judge();
}

constexpr auto confirmed = ConfirmationVerdict::confirmed, refuted = ConfirmationVerdict::not_confirmed,
               unknown = ConfirmationVerdict::unknown;

TEST(Confirmation, TheBlockIsTakenByNothingFoundAlone) {
  EXPECT_EQ(with({measured(confirmed)}).exit_code, ExitCode::regression);
  EXPECT_EQ(with({measured(unknown)}).exit_code, ExitCode::regression) << "nothing is known yet";
  const auto trend = with({measured(refuted)});
  EXPECT_EQ(trend.exit_code, ExitCode::nothing_worse);
  const auto& row = trend.rows.at(0);
  EXPECT_EQ(row.state, TrendState::alarm) << "the nights are still there";
  EXPECT_FALSE(row.alarms.at(0).blocks);
  EXPECT_NE(row.reason.find("the alarm of 2020-03-01 was not confirmed by 15 pairs"), std::string::npos) << row.reason;
}

TEST(Confirmation, ItHoldsForTheChangeBetweenItsNights) {
  EXPECT_EQ(with({measured(refuted, 40, 62)}).exit_code, ExitCode::nothing_worse) << "a wide range holds the change";
  EXPECT_EQ(with({measured(refuted, 60, 62)}).exit_code, ExitCode::regression) << "both after the change";
  EXPECT_EQ(with({measured(refuted, 40, 59)}).exit_code, ExitCode::regression) << "both before the change";
  Nights faster("throughput", 60);
  faster.add(12, 103);
  EXPECT_FALSE(with({measured(confirmed)}, faster).rows[0].alarms[0].confirmation) << "it was about a loss";
}

TEST(Confirmation, ItHoldsWhileTheLevelStays) {
  EXPECT_EQ(with({measured(refuted, 59, 60, -0.022)}).exit_code, ExitCode::nothing_worse);
  EXPECT_EQ(with({measured(refuted, 59, 60, -0.015)}).exit_code, ExitCode::regression)
      << "it has grown by more than half of the tolerance";
  EXPECT_TRUE(with({measured(confirmed, 59, 60, -0.015)}).rows[0].alarms[0].confirmation.has_value());
  Nights second("throughput", 60);
  second.add(40, 97).add(12, 94);
  EXPECT_EQ(with({measured(refuted)}, second).exit_code, ExitCode::regression) << "another loss is another alarm";
}

TEST(Confirmation, TheLastAnswerCountsAndAttemptsAreTold) {
  auto later = measured(refuted);
  later.at = "2020-03-14T02:00:00Z";
  for (const auto& lines : {std::vector{measured(unknown), later}, {later, measured(unknown)}}) {
    const auto trend = with(lines);
    EXPECT_EQ(trend.exit_code, ExitCode::nothing_worse);
    EXPECT_EQ(trend.rows[0].alarms[0].confirmation->attempts, 2u);
  }
}

TEST(Confirmation, WhatIsToBeMeasured) {
  const auto alarms = alarms_to_confirm(loss().judge(), false);
  ASSERT_EQ(alarms.size(), 1u);
  EXPECT_EQ(alarms[0].last_good, 59u);
  EXPECT_EQ(alarms[0].first_bad, 60u);
  EXPECT_NEAR(*alarms[0].threshold, 0.02, 1e-12);
  EXPECT_EQ(alarms[0].problem, "");
  EXPECT_TRUE(alarms_to_confirm(with({measured(confirmed)}), true).empty()) << "no re-run until it is green";
  EXPECT_TRUE(alarms_to_confirm(with({measured(refuted)}), true).empty());
  EXPECT_TRUE(alarms_to_confirm(with({measured(unknown)}), false).empty());
  EXPECT_EQ(alarms_to_confirm(with({measured(unknown)}), true).size(), 1u);
  EXPECT_TRUE(alarms_to_confirm(Nights("throughput", 60).add(12, 103).judge(), false).empty()) << "for the better";
  EXPECT_TRUE(alarms_to_confirm(Nights("step_time", 60).add(12, 110).judge(), false).empty()) << "advisory";
}

TEST(Confirmation, NightsWithoutACommitAreReplacedWithinTheirLevels) {
  auto nights = loss();
  for (const std::size_t night : {59, 58}) nights.input.nights[night].commit = "";
  nights.input.nights[60].commit += "+changes";
  auto alarms = alarms_to_confirm(nights.judge(), false);
  ASSERT_EQ(alarms.size(), 1u);
  EXPECT_EQ(alarms[0].last_good, 57u);
  EXPECT_EQ(alarms[0].first_bad, 61u);
  EXPECT_EQ(alarms[0].problem, "");
  for (std::size_t night = 60; night < 72; ++night) nights.input.nights[night].commit = "";
  alarms = alarms_to_confirm(nights.judge(), false);
  EXPECT_EQ(alarms.at(0).problem, "no night of the alarm names a commit that could be built");
}

TEST(Confirmation, NightsOfAnotherLevelSayNothing) {
  Nights nights("throughput", 60);
  nights.add(50, 97).add(20, 94);
  auto trend = nights.judge();
  ASSERT_EQ(trend.rows[0].alarms.size(), 2u);
  for (std::size_t night = 60; night < 110; ++night) nights.input.nights[night].commit = "";
  const auto alarms = alarms_to_confirm(nights.judge(), false);
  ASSERT_EQ(alarms.size(), 2u);
  EXPECT_NE(alarms[0].problem, "") << "the nights from 110 on are of the next level";
  EXPECT_NE(alarms[1].problem, "") << "the nights before 60 are of the one before";
}

ConfirmationVerdict verdict_of(double percent, double sd) {
  std::mt19937 random(5);
  std::normal_distribution<> normal(percent, sd);
  std::vector<double> pairs(confirmation_pairs);
  for (auto& value : pairs) value = normal(random);
  AlarmToConfirm alarm;
  alarm.threshold = 0.02;
  return confirmation_verdict(bisect_test(testing::pairs_of("throughput", pairs), "throughput", BisectDirection::worse,
                                          confirmation_policy(alarm, 1)));
}

TEST(Confirmation, AsksForTheLeastThatBlocks) {
  EXPECT_EQ(verdict_of(3, 0.5), confirmed);
  EXPECT_EQ(verdict_of(1.2, 0.3), confirmed) << "a small loss that the nights found is real: half of the tolerance";
  EXPECT_EQ(verdict_of(0, 0.5), refuted);
  EXPECT_EQ(verdict_of(-3, 0.5), refuted) << "it is faster";
  EXPECT_EQ(verdict_of(0.7, 2), unknown) << "the noise says neither";
  const auto policy = confirmation_policy({}, 7);
  EXPECT_EQ(policy.first_pairs, 15u);
  EXPECT_EQ(policy.looks(), 1u) << "a second look would share the level";
  EXPECT_FALSE(policy.tolerance.has_value()) << "without a threshold the metric's own";
}

TEST(Confirmation, ExitCodes) {
  EXPECT_EQ(confirmation_exit_code(with({measured(confirmed)}), false), ExitCode::regression);
  EXPECT_EQ(confirmation_exit_code(with({measured(confirmed)}), true), ExitCode::regression);
  EXPECT_EQ(confirmation_exit_code(loss().judge(), true), ExitCode::measurement_failed);
  EXPECT_EQ(confirmation_exit_code(with({measured(unknown)}), false), ExitCode::inconclusive);
  EXPECT_EQ(confirmation_exit_code(with({measured(refuted)}), false), ExitCode::nothing_worse);
  EXPECT_EQ(confirmation_exit_code(Nights("throughput", 60).judge(), false), ExitCode::nothing_worse);
  EXPECT_EQ(confirmation_exit_code(Nights("throughput", 5).judge(), false), ExitCode::not_comparable);
}

}  // namespace
}  // namespace stepgauge::verdict
