#pragma once
// What is written into a rank's record (docs/worker_contract.md), from what was measured and seen. Nothing is run here.
#include <string>

#include "contract/cell.hpp"
#include "contract/record.hpp"
#include "worker/device.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/rank_environment.hpp"
#include "worker/step_loop.hpp"
#include "worker/step_program.hpp"
#include "worker/trace/step_probe.hpp"

namespace stepgauge::worker {

/// Of which cell, launch and rank; nothing measured yet, status ok.
RankRecord new_record(const RankEnvironment& environment, const Cell& cell);

/// Sets status and reason, of which 2,000 bytes are kept.
void record_failure(RankRecord& record, Status status, const std::string& reason);

/// The loop: step times, memory, work and its formula, peak rate, losses, `wall`, `warmup`, `perturbed`, `usage`. A
/// loss that is not finite makes the launch `incorrect`, however fast it was.
void record_loop(RankRecord& record, const LoopResult& loop, const Cell& cell, const workloads::Workload& workload,
                 const DeviceRoom& room);

/// `settings` (asked, set, used) and, of a mode that compiles, `compile`, as the program tells them now.
void record_program(RankRecord& record, const StepProgram& program);

/// `memory_inside` and the operators' types in `settings`, from the probes of the first and of a settled step;
/// `outside_after`: MiB in use outside the allocator, by phase that ended.
void record_probes(RankRecord& record, const StepProbe& first, const StepProbe& settled, const LoopResult& loop,
                   const Json& outside_after);

/// `checkpoint`, what checkpointing did, and the memory that pools of graphs hold.
void record_mode(RankRecord& record, const StepProgram& program, const Cell& cell, const LoopResult& loop);

/// `parity`; a program that does not agree makes the launch `incorrect`.
void record_parity(RankRecord& record, const Json& parity);

/// `software`, `environment`, `cpu`, `device`: where this ran. Without a room, or a group, what is known without.
void record_place(RankRecord& record, const DeviceRoom* room, const RankGroup* group);

}  // namespace stepgauge::worker
