#pragma once
// The process group's calls joined with the kernels that they launched.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/timeline.hpp"

namespace stepgauge::trace::detail {

/// A call of a process group ("nccl:all_reduce"), or a collective as the args of its kernel tell it.
struct CollectiveCall {
  std::string kind;
  Interval host, device;  ///< device: empty when not known yet
  std::uint32_t correlation = 0;
  std::optional<std::int64_t> sequence;
  std::int64_t bytes = 0;
  std::int32_t bucket = -1;
};

/// "_allgather_base" and "all_gather" are the same collective: one spelling for each.
std::string collective_kind(std::string_view name);

/// Fills `timeline.collectives` in order of their calls. A kernel belongs to the call whose host interval contains its
/// launch; kernels without such a call (launched by a CUDA graph) are joined by order when as many calls are left.
/// Calls without sequence numbers are counted. `timeline.activities` and `calls` are sorted and classified.
void link_collectives(std::vector<CollectiveCall> calls, RankTimeline& timeline);

}  // namespace stepgauge::trace::detail
