#pragma once
// Where the time of a step went: the identities of docs/metrics.md, per step and over the pass.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/timeline.hpp"

namespace stepgauge::trace {

/// Lengths in ns inside a window W; compute + exposed_comm + exposed_copy + idle = window, exactly (integers).
struct Breakdown {
  std::int64_t window = 0;
  std::int64_t compute = 0;         ///< |K|
  std::int64_t communication = 0;   ///< |C|
  std::int64_t copy = 0;            ///< |M|
  std::int64_t exposed_comm = 0;    ///< |C \ K|
  std::int64_t exposed_copy = 0;    ///< |M \ (K u C)|
  std::int64_t idle = 0;            ///< |W \ (K u C u M)|
  std::int64_t overlap = 0;         ///< |C n K|
  std::int64_t duration_sum = 0;    ///< sum of the durations of all activities that start in W (article's formula)
  std::int64_t kernels = 0;         ///< kernel records (host timeline: top-level operators) that start in W
  std::int64_t copies = 0;          ///< copies and memsets (host timeline: outermost copy operators) that start in W
  std::int64_t launches = 0;        ///< host calls that launched work (kernel, copy, memset, graph) which starts in W
  std::int64_t graph_launches = 0;  ///< of these, of CUDA graphs
  std::int64_t collectives = 0;     ///< of the process group's record
  std::int64_t collective_bytes = 0;

  // Ratios of an empty window are NaN.
  double stall_ratio() const;  ///< 1 - compute / window, in [0, 1]
  double idle_ratio() const;
  double exposed_comm_ratio() const;
  double exposed_copy_ratio() const;
  std::optional<double> overlap_ratio() const;  ///< nullopt ("not applicable") when there was no communication
  double stall_article() const;                 ///< (window - duration_sum) / window; may be negative
};

struct RankBreakdown {
  std::vector<Breakdown> steps;
  Breakdown total;  ///< over all of the traced steps; counts and lengths are sums of the steps'
};

/// Throws std::logic_error that names `step` when the parts do not sum up to the window or to |C|, or when one is
/// negative.
void check_identities(const Breakdown& breakdown, const std::string& step);

/// Steps of the timeline one by one. Throws std::logic_error when an identity does not hold (it is checked, never
/// clamped).
RankBreakdown break_down(const RankTimeline& timeline);

/// Whether a call of the CUDA runtime or driver with this name launches a CUDA graph.
bool is_graph_launch(std::string_view call);

/// Why a timeline cannot be trusted; empty when it can. Rules, fixed beforehand:
/// - the tracer lost records;
/// - no step mark, or a step without any activity ("45 of 50 steps have GPU records");
/// - an activity of zero or negative length, or ending later than its stream's next one by more than 1 us
///   (excluded and counted by `sanitize`; more than 0.1 % of all makes the trace unreliable);
/// - a traced step whose marks differ from the step's device events by more than 2 % and 50 us, or busy time above
///   those by more than 50 us; another number of marks than of device events;
/// - communication of zero length in a world of two or more although collectives were recorded, or in a foreign file.
std::vector<std::string> unreliable_because(const RankTimeline& timeline, const RankBreakdown& breakdown,
                                            std::int64_t excluded);

/// Takes out impossible activities (see above) and returns how many; the rest stays in order. The rule of the next one
/// holds for work on a device's stream: operators nest, collectives overlap, and the nodes of one launch of a CUDA
/// graph may run side by side.
std::int64_t sanitize(RankTimeline& timeline);

}  // namespace stepgauge::trace
