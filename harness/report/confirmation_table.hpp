#pragma once
#include <string>
#include <vector>

#include "report/style.hpp"
#include "verdict/confirmation.hpp"

namespace stepgauge::report {

/// What a confirmation of alarms came to, for a terminal: the verdict, and a row an alarm with its range of commits, or
/// with the reason why it could not be measured. `left`: the history once the confirmations are in it.
std::string confirmation_table(const std::vector<verdict::MeasuredAlarm>& alarms, const verdict::Trend& left,
                               ExitCode code, const Style& style);

}  // namespace stepgauge::report
