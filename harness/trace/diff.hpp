#pragma once
// What differs between the traces of two launches, for `stepgauge trace diff`: by cost per step, the largest first.
#include <optional>
#include <string>
#include <vector>

#include "contract/json_io.hpp"
#include "trace/analysis.hpp"

namespace stepgauge::trace {

enum class Change : std::uint8_t { appeared, gone, count, time, idle };

/// All launches of one kernel (copy, memset, operator, collective), or all of the idle time that belongs to none that
/// came or went. Numbers are those of one step of one rank: means over steps and ranks. The idle time in front of a
/// kernel is its own where its launches came, went or changed in number: it would not be there without them.
struct DiffRow {
  Change change = Change::time;
  std::string name;  ///< as recorded; "idle" for idle time
  ActivityKind kind = ActivityKind::kernel;
  double count_a = 0, count_b = 0;  ///< launches
  double ms_a = 0, ms_b = 0;        ///< with the idle time that belongs to it
  std::string before;  ///< idle: what the part that changed most stood in front of; "": the end of the trace
  ActivityKind before_kind = ActivityKind::kernel;
  double before_ms = 0;  ///< idle: by how much this part changed
  std::string host;      ///< what the host was doing in the part of the idle time that changed most; "": no idle time

  double cost_ms() const { return ms_b - ms_a; }
};

/// One line of both breakdowns, per step of one rank.
struct BreakdownRow {
  std::string name;  ///< "step", "compute", "exposed communication", ...; numbers of records: "kernels", ...
  bool ms = true;    ///< milliseconds; false: a number of records
  double a = 0, b = 0;
};

struct DiffSide {
  std::string source;
  std::size_t ranks = 0, steps = 0;   ///< steps of each rank
  std::vector<std::string> doubtful;  ///< why it cannot be trusted; one side's reasons withhold all numbers
};

struct TraceDiff {
  DiffSide a, b;
  std::vector<BreakdownRow> breakdown;
  std::vector<DiffRow> rows;  ///< largest |cost| first; what did not change is left out
  std::vector<std::string> notes;

  bool reliable() const { return a.doubtful.empty() && b.doubtful.empty(); }
};

/// From A to B. Throws std::invalid_argument when one is a timeline of operators and the other one of kernels.
TraceDiff diff(const LaunchTraces& a, const LaunchTraces& b);

std::string_view to_string(Change change);
Json to_json(const TraceDiff& diff);

}  // namespace stepgauge::trace
