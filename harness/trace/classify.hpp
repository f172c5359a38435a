#pragma once
// Which class an activity belongs to, by kind and name.
#include <string_view>

#include "trace/timeline.hpp"

namespace stepgauge::trace {

/// Kernels: communication for every spelling of NCCL's (ncclKernel_, ncclDevKernel_, nccldevkernel...), RCCL's,
/// NVSHMEM's and the symmetric-memory and custom all-reduce kernels of PyTorch; else compute. Copies and memsets: copy.
/// Host operators: copy for aten::copy_, aten::_to_copy and their kin; communication for collectives; else compute.
ActivityClass classify(ActivityKind kind, std::string_view name);

/// Sets the class of every activity; each name is looked at once, not each activity.
void classify(RankTimeline& timeline);

}  // namespace stepgauge::trace
