// Acknowledgements, control builds, pins, and series that come and go.
#include <gtest/gtest.h>

#include "nights.hpp"

namespace stepgauge::verdict {
namespace {

using testing::Nights;

TEST(TrendSegments, AnAcknowledgedChangeStartsAnew) {
  Nights nights("throughput", 60);
  nights.add(40, 90);
  EXPECT_EQ(nights.judge().exit_code, ExitCode::regression);
  nights.series().known = {{60, "new loader", "ada"}};
  auto trend = nights.judge();
  EXPECT_EQ(trend.exit_code, ExitCode::nothing_worse);
  EXPECT_EQ(trend.rows[0].nights, 40u);
  EXPECT_NEAR(*trend.rows[0].centre, 90, 0.3);
  EXPECT_EQ(trend.rows[0].known->by, "ada");
  EXPECT_EQ(trend.rows[0].reason, "since " + Nights::run(60) + ", acknowledged by ada: new loader");
  nights.add(12, 85);
  EXPECT_EQ(nights.judge().exit_code, ExitCode::regression) << "an acknowledgement is not a licence";
}

TEST(TrendSegments, TheLatestNightCountsNotTheLatestLine) {
  Nights nights("throughput", 60);
  nights.add(40, 90);
  nights.series().known = {{60, "later", "ada"}, {10, "earlier", "bob"}};
  EXPECT_EQ(nights.judge().rows[0].known->reason, "later");
}

TEST(TrendSegments, VanishedUntilItIsAcknowledged) {
  Nights nights("throughput", 40);
  nights.no_value();
  nights.no_value();
  nights.series().last_outcome = "2 crashed";
  auto trend = nights.judge();
  EXPECT_EQ(trend.rows[0].state, TrendState::vanished);
  EXPECT_EQ(trend.rows[0].reason, "no value for 2 nights: in the last run 2 crashed");
  EXPECT_EQ(trend.exit_code, ExitCode::not_comparable) << "nothing was judged";
  nights.series().last_outcome = "";
  EXPECT_EQ(nights.judge().rows[0].reason, "no value for 2 nights: the cell is not in the last run");
  nights.series().known = {{40, "the cell was dropped", "ada"}};
  EXPECT_TRUE(nights.judge().rows.empty());
}

TEST(TrendSegments, AnAlarmDoesNotVanishWithItsSeries) {
  Nights nights("throughput", 60);
  nights.add(12, 90).no_value();
  EXPECT_EQ(nights.judge().exit_code, ExitCode::regression);
}

TEST(TrendSegments, NewAndWithHoles) {
  Nights fresh;
  fresh.no_value();
  fresh.add(1, 100);
  EXPECT_EQ(fresh.judge().rows[0].state, TrendState::fresh);
  EXPECT_EQ(Nights("throughput", 1).judge().rows[0].state, TrendState::shown) << "everything is new in a new history";
  Nights holes("throughput", 40);
  holes.no_value();
  holes.no_value();
  holes.add(5, 100);
  const auto trend = holes.judge();
  EXPECT_EQ(trend.rows[0].state, TrendState::quiet);
  EXPECT_EQ(trend.rows[0].gap, 2u);
  EXPECT_EQ(trend.rows[0].reason, "gap of 2 nights");
}

TEST(TrendSegments, DaysWithoutANightAreTold) {
  Nights nights("throughput", 40);
  EXPECT_TRUE(nights.judge().notes.empty());
  nights.input.nights.back().created_at = "2020-02-26T02:00:00Z";  // the night before: 2020-02-08
  const auto notes = nights.judge().notes;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], "a gap of 18 days: no night between 2020-02-08T02:00:00Z and 2020-02-26T02:00:00Z");
  Nights weekly("throughput", 4);
  const char* days[] = {"2026-11-01", "2026-11-08", "2026-11-15", "2026-11-29"};
  for (int i = 0; i < 4; ++i) weekly.input.nights[static_cast<std::size_t>(i)].created_at = days[i];
  EXPECT_EQ(weekly.judge().notes, std::vector<std::string>{"no series has the nights to be judged"});
}

/// Both builds on a machine that is 4 % slower or faster from night to night.
Nights with_sessions(std::size_t count, double tip_factor_late = 1, double machine_late = 1) {
  Nights nights;
  for (std::size_t i = 0; i < count; ++i) {
    const bool late = i >= count - 12;
    const double session = std::exp(0.04 * std::sin(1.7 * static_cast<double>(i * i))) * (late ? machine_late : 1);
    nights.add(1, 100 * session * (late ? tip_factor_late : 1), 0.001);
    nights.control(i, 80 * session);
  }
  return nights;
}

TEST(TrendSegments, TheControlBuildTakesTheSessionOut) {
  const auto quiet = with_sessions(60).judge();
  EXPECT_TRUE(quiet.rows[0].against_reference);
  EXPECT_LT(*quiet.rows[0].noise, 0.005);
  EXPECT_EQ(quiet.exit_code, ExitCode::nothing_worse);
  EXPECT_NEAR(*quiet.rows[0].centre, 100, 6) << "the centre stays in the metric's unit";
  const auto slower = with_sessions(60, 0.97).judge();
  EXPECT_EQ(slower.exit_code, ExitCode::regression) << "3 % of noise of 4 %";
  EXPECT_EQ(slower.rows[0].alarms.at(0).change, 48u);
  EXPECT_NEAR(slower.rows[0].alarms[0].size, -0.03, 0.002);
}

TEST(TrendSegments, AnAlarmOfTheControlBuildIsTheMachine) {
  Nights nights("throughput", 0);
  for (std::size_t i = 0; i < 60; ++i) {
    nights.add(1, i < 48 ? 100 : 95);
    nights.control(i, i < 48 ? 80 : 76);
  }
  auto trend = nights.judge();
  EXPECT_EQ(trend.exit_code, ExitCode::nothing_worse);
  ASSERT_EQ(trend.machine_alarms.size(), 1u);
  EXPECT_EQ(trend.machine_alarms[0].alarm.change, 48u);
  EXPECT_TRUE(trend.rows[0].alarms.empty());
  EXPECT_NE(trend.notes.at(0).find("it is the machine"), std::string::npos);
  // The last night has no control build: the tip alone is looked at, and its alarm has the machine's name.
  nights.add(1, 95);
  trend = nights.judge();
  EXPECT_FALSE(trend.rows[0].against_reference);
  ASSERT_EQ(trend.rows[0].alarms.size(), 1u);
  EXPECT_TRUE(trend.rows[0].alarms[0].machine);
  EXPECT_EQ(trend.exit_code, ExitCode::nothing_worse);
}

TEST(TrendSegments, AnotherControlBuildIsAnotherLevel) {
  Nights nights("throughput", 0);
  for (std::size_t i = 0; i < 80; ++i) {
    nights.add(1, 100);
    nights.control(i, i < 60 ? 80 : 88, i < 60 ? "frozen" : "thawed");
  }
  const auto trend = nights.judge();
  EXPECT_FALSE(trend.rows[0].against_reference) << "twenty nights of the new one are too few";
  EXPECT_EQ(trend.exit_code, ExitCode::nothing_worse);
  EXPECT_TRUE(trend.rows[0].alarms.empty());
}

TEST(TrendSegments, SmallLossesAddUpAgainstTheRelease) {
  Nights nights("throughput", 40);
  for (std::size_t step = 1; step <= 4; ++step) {
    nights.series().known.push_back({nights.input.nights.size(), "only 1 %", "ada"});
    nights.add(35, 100 - static_cast<double>(step));
  }
  EXPECT_EQ(nights.judge().rows[0].creep, std::nullopt);
  nights.input.pin = {20, "v1.0"};
  const auto trend = nights.judge();
  EXPECT_EQ(trend.exit_code, ExitCode::nothing_worse);
  EXPECT_NEAR(*trend.rows[0].creep, -0.04, 0.012);
  EXPECT_TRUE(trend.rows[0].crept);
  nights.input.pin = {150, "v2.0"};
  EXPECT_FALSE(nights.judge().rows[0].crept);
}

TEST(TrendSegments, CreepIsOnlyToldWhenItIsCertain) {
  for (const double level : {97.5, 94.0}) {
    Nights nights("throughput", 40, 0.01);
    nights.series().tip[20] = {100, 100};
    nights.series().known = {{40, "why", "ada"}};
    nights.add(40, level, 0.01);
    for (int i = 0; i < 7; ++i) nights.add_night(level);
    nights.input.pin = {20, "v1.0"};
    const auto trend = nights.judge();
    EXPECT_NEAR(*trend.rows[0].creep, level / 100 - 1, 1e-12);
    EXPECT_EQ(trend.rows[0].crept, level == 94) << "2.5 % is above the tolerance of 2 %, but by less than the noise";
  }
}

TEST(TrendSegments, CreepIsAgainstTheControlBuildToo) {
  auto nights = with_sessions(60, 0.95);
  nights.input.pin = {10, "v1.0"};
  EXPECT_NEAR(*nights.judge().rows[0].creep, -0.05, 0.003);
}

}  // namespace
}  // namespace stepgauge::verdict
