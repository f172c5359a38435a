#pragma once
#include <string>

#include "report/style.hpp"
#include "verdict/trend.hpp"

namespace stepgauge::report {

/// One history for a terminal: the verdict with its counts, one row a cell and metric (blocking ones, and others that
/// alarm or crept; all where none is blocking), the alarms with night, size, commit range and confirmation, the changes
/// of level where they were searched, and what the file and the control build say.
std::string trend_table(const verdict::Trend& trend, const Style& style);

}  // namespace stepgauge::report
