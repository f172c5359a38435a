#pragma once
// The confirmation of alarms (statistics.md 3.6): which of a history's alarms are to be measured, between which nights,
// and what the pairs say. Pure: no files, no clock.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contract/confirmation.hpp"
#include "verdict/bisect_test.hpp"
#include "verdict/trend.hpp"

namespace stepgauge::verdict {

/// An alarm to be measured.
struct AlarmToConfirm {
  std::string cell, metric;
  double alarm_size = 0;                     ///< TrendAlarm::size
  std::optional<double> threshold;           ///< TrendRow::threshold
  std::size_t last_good = 0, first_bad = 0;  ///< nights whose commits are compared
  std::string problem;                       ///< why there are no such nights; empty: there are
};

/// The blocking alarms that no confirmation holds for, in the order of the rows; with `again` those as well whose last
/// one was not decided. A night whose commit is not known, or had changes on top of it, is replaced by the nearest one
/// farther from the change and within its level.
std::vector<AlarmToConfirm> alarms_to_confirm(const Trend& trend, bool again);

/// The fixed design: that many pairs, one look, the level of the test for each row. What has to be shown is the least
/// that blocks in a history, half of the threshold.
BisectPolicy confirmation_policy(const AlarmToConfirm& alarm, std::uint64_t seed);
inline constexpr std::size_t confirmation_pairs = 15;

/// bisect_test()'s answer about "worse": different, same, or neither.
ConfirmationVerdict confirmation_verdict(const BisectTest& test);

/// What became of an alarm that was to be measured.
struct MeasuredAlarm {
  AlarmToConfirm alarm;
  std::string good, bad;           ///< commits as they were built; empty: not found
  std::optional<BisectTest> test;  ///< nullopt: it could not be measured, alarm.problem says why
  std::string folder;              ///< with the launches; empty: none were made
};

/// `left`: the history once the new confirmations are in it. The first that holds: 5 it has nothing to judge; 1 an
/// alarm that is confirmed blocks; 3 something could not be measured, or the user interrupted (`unmeasured`); 4 an
/// alarm blocks that was not decided; else 0.
ExitCode confirmation_exit_code(const Trend& left, bool unmeasured);

}  // namespace stepgauge::verdict
