#pragma once
// What the ranks' own process group can do: all-reduces of growing size, and messages between each two ranks.
#include "contract/json_io.hpp"
#include "worker/device.hpp"
#include "worker/parallel/process_group.hpp"

namespace stepgauge::worker {

/// Times all-reduces of fp32 through the group for about 2 s, then messages between each pair while the others wait.
/// Every rank calls it at the same place, and all get the same answer: `sweep` (sweep_point), `latency_us` (of 8
/// bytes), `sweep_bare` (8 B, 64 KiB and the largest size by the library alone, where it can be called), `pairs` ({a,
/// b, gbps}, a sends), `pairs_absent` and `sweep_stopped` with a reason where something was left out. Times are the
/// slowest rank's.
Json sweep_all_reduce(RankGroup& group, DeviceRoom& room);

}  // namespace stepgauge::worker
