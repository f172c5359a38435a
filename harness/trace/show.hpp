#pragma once
// What `stepgauge trace show` says about the traces of a launch.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "contract/json_io.hpp"
#include "trace/analysis.hpp"

namespace stepgauge::trace {

/// All launches of one kernel (copy, memset, operator, collective) in one phase.
struct WorkRow {
  std::string name;  ///< as recorded; labels.hpp shortens it
  ActivityKind kind = ActivityKind::kernel;
  ActivityClass type = ActivityClass::compute;
  std::string phase;  ///< "": not known
  double per_step = 0;
  double ms_per_step = 0;
  double share = 0;  ///< of the traced steps' time
};

/// All stretches in which nothing ran, before the same kernel and with the host at the same call.
struct IdleRow {
  std::string next;  ///< name of what ended them; "": the end of the traced steps
  ActivityKind next_kind = ActivityKind::kernel;
  std::string host;  ///< what the host was doing in the middle of them
  double per_step = 0;
  double ms_per_step = 0;
  double longest_ms = 0;
  std::string longest_step;     ///< where the longest of them began
  double longest_after_ms = 0;  ///< after the begin of that step
};

struct RankView {
  int rank = 0;
  int world_size = 1;
  std::string device_name, origin;
  bool host_time = false, foreign = false;
  std::size_t steps = 0;
  std::size_t activities = 0;
  std::int64_t excluded = 0, dropped = 0;
  std::map<std::string, std::int64_t> ignored;
  std::vector<std::string> doubtful;  ///< not empty: what follows is withheld
  Breakdown total;
  std::vector<WorkRow> work;   ///< most time first
  std::size_t other_work = 0;  ///< rows that are not among them
  std::vector<IdleRow> idle;   ///< most time first
};

struct SlowestCollective {
  CollectiveSkew collective;
  bool compared = false;  ///< the ranks were aligned: skew and shortest are known
  int rank = 0;           ///< not compared: whose it is
};

struct TraceView {
  std::string source;
  std::vector<RankView> ranks;
  std::optional<Alignment> alignment;
  std::optional<SlowestCollective> slowest;  ///< nullopt: none was seen
  std::vector<std::string> notes;

  bool reliable() const;
};

struct ViewOptions {
  std::optional<int> rank;  ///< this one only
  std::size_t top = 10;     ///< rows of work and of idle time
};

/// Throws std::invalid_argument for a rank that the traces do not have.
TraceView view(const LaunchTraces& traces, const ViewOptions& options = {});

Json to_json(const TraceView& view);
/// A breakdown as ms and shares of the window; the ratios of an empty window are null.
Json to_json(const Breakdown& breakdown, std::size_t steps);

}  // namespace stepgauge::trace
