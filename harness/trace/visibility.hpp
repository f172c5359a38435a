#pragma once
// Which parts of a step can be located in a launch's traces, and by which mark (article A6).
#include "contract/json_io.hpp"
#include "trace/analysis.hpp"

namespace stepgauge::trace {

/// For "forward", "backward", "optimizer", "bucket" and "all_reduce": {"located": true, "by": ["device mark", ...]},
/// the surest mark first, or {"located": false, "why": "..."}. A mark counts when it is in every traced step of every
/// rank.
/// - "device mark": a span on the device's clock; "graph mark": one that lies inside the launch of a CUDA graph;
/// - "user annotation": a span on the host's clock, within which work was launched;
/// - "NCCL kernel": communication on the device; "collective record": the process group's own.
/// Null without a trace that has steps.
Json visibility_json(const LaunchTraces& traces);

}  // namespace stepgauge::trace
