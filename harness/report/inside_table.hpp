#pragma once
// Where a step goes: the second table of a run.
#include <string>

#include "contract/result_set.hpp"
#include "report/style.hpp"

namespace stepgauge::report {

/// One line a cell with a traced pass: shares of the window (medians over its ok launches), kernels and launches per
/// step, what tracing cost; then why other cells have none, and cells that asked for different things and did the same
/// work. Empty when no launch has anything of it.
std::string inside_table(const ResultSet& results, const Style& style = {});

}  // namespace stepgauge::report
