// A change of the clocks between the arms of a pair must not be taken for a change of the program.
#include "summary/clock_change.hpp"

#include <gtest/gtest.h>

namespace stepgauge::summary {
namespace {

/// Samples at 0, 1, 2, ... s; the measured steps are from 1 s to 3 s.
LaunchRecord launch_at(const Json& sm_mhz, bool told_phases = true) {
  LaunchRecord record;
  auto times = Json::array();
  for (std::size_t i = 0; i < sm_mhz.size(); ++i) times.push_back(static_cast<double>(i));
  record.detail["health"] = {
      {"devices", Json::array({{{"index", 2}, {"samples", {{"t_s", std::move(times)}, {"sm_mhz", sm_mhz}}}}})}};
  if (told_phases) record.detail["health"]["measured"] = {{"from_s", 1.0}, {"to_s", 3.0}};
  return record;
}

TEST(ClockChange, FivePercentBetweenTheArms) {
  const auto base = launch_at({300, 1980, 1980, 1980, 300});
  EXPECT_EQ(changed_clocks(base, launch_at({300, 1900, 1900, 1900, 300})), "");  // 1980 / 1900 = 1.042
  EXPECT_EQ(changed_clocks(base, launch_at({300, 1880, 1880, 1880, 300})),       // 1.053
            "GPU 2: SM clock 1980 MHz in base, 1880 MHz in head");
  EXPECT_EQ(changed_clocks(launch_at({300, 1500, 1500, 1500}), base),
            "GPU 2: SM clock 1500 MHz in base, 1980 MHz in head");
}

TEST(ClockChange, OnlyTheMeasuredStepsCount) {
  EXPECT_EQ(changed_clocks(launch_at({300, 1980, 1980, 1980, 300}), launch_at({1980, 1980, 1980, 1980, 1980})), "");
  EXPECT_EQ(changed_clocks(launch_at({300, 1980, 1980, 1980}), launch_at({300, 1980, 900, 1980})), "") << "the median";
}

TEST(ClockChange, WhatWasNotReadIsNoChange) {
  const auto base = launch_at({1980, 1980, 1980, 1980});
  EXPECT_EQ(changed_clocks(base, LaunchRecord{}), "");
  EXPECT_EQ(changed_clocks(base, launch_at({900, nullptr, nullptr, nullptr})), "");
  EXPECT_EQ(changed_clocks(base, launch_at({900, 900, 900, 900}, false)), "");
}

}  // namespace
}  // namespace stepgauge::summary
