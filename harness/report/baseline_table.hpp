#pragma once
#include <string>
#include <vector>

#include "contract/result_set.hpp"

namespace stepgauge::report {

/// Where the numbers of a Markdown table come from.
struct TableSource {
  std::vector<std::string> command;  ///< argv of the run
  std::string run;                   ///< folder that it made
};

/// Markdown: command, machine, versions and date, then one table of medians over launches per unit of throughput, and
/// what was not measured. Text of others is escaped.
std::string baseline_markdown(const ResultSet& results, const TableSource& source);

}  // namespace stepgauge::report
