#pragma once
// What compile modes, checkpointing and precisions cost and give: the tables behind a run's first two.
#include <optional>
#include <string>

#include "contract/result_set.hpp"
#include "report/detail/sheet.hpp"

namespace stepgauge::report::detail {

enum class Detail {
  brief,  ///< for a terminal: what does not stand in the run's other tables, in columns that fit
  full    ///< for a file: every column, and groups that a run's tables leave out
};

/// Start-up and speed by compile mode; full: also what start_sheet's neighbour says. Groups with a mode beside eager.
Sheet start_sheet(const ResultSet& results, Detail detail);

/// Captures, breaks, recompiles and the loss error by compile mode; below, breaks with their source lines and
/// recompiles with their guards.
Sheet compiler_sheet(const ResultSet& results);

/// Each checkpointed cell against its twin without: memory saved, time paid, what was recomputed.
Sheet checkpointing_sheet(const ResultSet& results);

/// Speed by precision; brief: groups with an fp8 cell, full: groups of two and more precisions.
Sheet precision_sheet(const ResultSet& results, Detail detail);

/// Which part of a step can be located in the trace; brief: groups with a mode beside eager, by the surest mark; full:
/// every traced cell with all marks.
Sheet visibility_sheet(const ResultSet& results, Detail detail);

/// Median over the ok launches.
std::optional<double> middle(const CellResults& cell, const char* metric);

/// Counts are whole in most launches: without decimals where they are.
std::string count_text(const std::optional<double>& value);

/// The last ok launch's part of that name, else that of the last launch; null: there is none.
const Json& last_part(const CellResults& cell, const char* key);

/// "forward at twin.py:12" of a graph break, a recompile or a region, as far as it is known; printable.
std::string place_text(const Json& entry);

}  // namespace stepgauge::report::detail
