#pragma once
#include <string>

#include "contract/result_set.hpp"
#include "report/style.hpp"

namespace stepgauge::report {

/// One line a cell (medians over its ok launches, spread of the step time between launches), one table per unit of
/// throughput; where a step goes (inside_table.hpp); compile modes and their kin (mode_tables.hpp); then every launch
/// that is not ok with its reason and logs (launch detail evidence.folder), and every cell that was not launched with
/// its reason.
std::string run_table(const ResultSet& results, const Style& style = {});

/// The same for programs: cells with medians, counts and statuses.
Json run_summary_json(const ResultSet& results);

}  // namespace stepgauge::report
