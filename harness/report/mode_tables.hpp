#pragma once
// Compile modes, checkpointing, precisions: the tables that a run has beside those of every run.
#include <string>

#include "contract/result_set.hpp"
#include "report/style.hpp"

namespace stepgauge::report {

/// Start-up and speed by compile mode, what the compiler did, what can be located in the traces (where a cell is not
/// eager); checkpointing against each cell's twin without it; precisions where one is fp8. Empty where nothing of it is
/// in the results.
std::string mode_tables(const ResultSet& results, const Style& style = {});

/// The same as Markdown, with every column and every group.
std::string mode_tables_markdown(const ResultSet& results);

}  // namespace stepgauge::report
