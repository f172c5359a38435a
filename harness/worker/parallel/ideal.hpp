#pragma once
// What a rank says about its communication: what was handed over, and how far the step is from the limit that its
// compute and its communication set.
#include "worker/parallel/process_group.hpp"
#include "worker/step_loop.hpp"

namespace stepgauge::worker {

/// The record's `communication` without `ideal`: strategy, hook, what the hook keeps, and per measured step the
/// payloads (MiB) and calls of collectives, in all and by kind.
Json communication_json(const CellDdp& options, const StepProgram& program, const LoopResult& loop);

/// `communication.ideal`: compute alone (steps without reduction), communication alone (the buckets reduced by the
/// cell's own hook with nothing beside it), each the median of some rounds on the slowest rank, in ms; `limit_ms`, the
/// larger of the two; `distance`, the median measured step over it. After all measurement: weights, gradients and the
/// hook's state move on. {"absent": reason} where steps without reduction cannot be had.
Json measure_ideal(StepProgram& program, DeviceRoom& room, RankGroup& group, const LoopResult& loop);

}  // namespace stepgauge::worker
