#pragma once
#include <string>
#include <vector>

#include "contract/result_set.hpp"
#include "report/article.hpp"

namespace stepgauge::report {

/// Where the numbers of a Markdown table come from.
struct TableSource {
  std::vector<std::string> command;  ///< argv of the run
  std::string run;                   ///< folder that it made
  SnapshotsByCell snapshots{};       ///< of the graphs that its launches left
};

/// Markdown: command, machine, versions and date, then one table of medians over launches per unit of throughput, the
/// article's row where the suite stands for one (article.hpp), else the tables of compile modes (mode_tables.hpp) where
/// there are any, and what was not measured. Text of others is escaped.
std::string baseline_markdown(const ResultSet& results, const TableSource& source);

}  // namespace stepgauge::report
