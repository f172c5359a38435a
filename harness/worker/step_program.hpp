#pragma once
// What the worker measures: one interface for every mode, so that one loop, one set of probes, one trace and one
// comparison with the reference serve all of them.
#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contract/cell.hpp"
#include "worker/parallel/traffic.hpp"
#include "worker/trace/step_marks.hpp"
#include "workloads/workload.hpp"

namespace stepgauge::worker {

class RankGroup;
class DeviceRoom;

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

class StepProgram {
 public:
  virtual ~StepProgram() = default;
  /// Phase `wrap`, for cells of two and more ranks.
  virtual void wrap(RankGroup& group) = 0;
  /// Phase `compile`: what is compiled or captured ahead of the first step.
  virtual void prepare() {}
  /// Runs one training iteration (forward, backward, gradient reduction, optimizer) and returns its detached
  /// loss, still on the device; the next step may overwrite it. Submits work only; never waits for the device.
  virtual torch::Tensor step() = 0;
  /// Warm-up is over: whatever is compiled or captured from now on is late.
  virtual void end_of_warmup() {}

  /// Training starts anew, by the same compiled program: initial weights and a fresh optimizer, in place.
  virtual void restart() = 0;
  /// The batch of the steps from now on, also where the cell draws a new one each step.
  virtual void set_batch(const workloads::Batch& batch) = 0;
  /// Parameters in the order of the model, with the gradients of the last step.
  virtual NamedTensors parameters() const = 0;

  /// What was set and what is seen in the tensors, for the record's asked/set/used.
  virtual Json settings() const = 0;
  /// What the compiler did (docs/worker_contract.md, `compile`); null for a mode that compiles nothing.
  virtual Json compile_report() const { return nullptr; }
  /// Blocks of the model that checkpointing chooses from.
  virtual std::size_t blocks() const = 0;
  /// Blocks recomputed in the last step; nullopt where it cannot be known.
  virtual std::optional<std::int64_t> recomputed_blocks() const { return 0; }
  /// Sizes of the mode's intermediate representations (docs/worker_contract.md, `ir_census`). After all measurement.
  virtual Json ir_census() { return Json::array(); }
  /// After all measurement of a launch that went well: writes what it leaves behind (graph snapshots, compile caches).
  virtual void finish() {}
  /// Bytes of each gradient bucket as planned now; empty for one rank.
  virtual std::vector<std::int64_t> bucket_bytes() const { return {}; }

  /// Bytes that the gradients' compression keeps from step to step.
  virtual std::int64_t hook_state_bytes() const { return 0; }
  /// What a step hands to collectives without the process group being asked: those inside a captured graph.
  virtual TrafficByKind captured_traffic() const { return {}; }
  /// Steps from now on reduce no gradients, or do again. False where that cannot be had. After all measurement.
  virtual bool set_reduction(bool) { return false; }
  /// Reduces the gradients once more, with nothing beside it; where set_reduction() can be had. Submits only.
  virtual void reduce_alone() {}

  /// Marks of the phases of every step from now on; nullptr: none.
  virtual void set_marks(StepMarks* marks) { marks_ = marks; }

 protected:
  void mark(const char* phase) const {
    if (marks_ != nullptr) marks_->phase(phase);
  }
  StepMarks* marks() const { return marks_; }

 private:
  StepMarks* marks_ = nullptr;
};

struct ProgramOptions {
  int rank = 0;
  int world_size = 1;
  std::string graphs_path;  ///< snapshots of the compiled graphs are wanted in this file; empty: none
};

/// Phase `build`: the program of the cell's mode with its model, data and optimizer on the device.
/// Throws UnsupportedCell for a mode that this build does not have.
std::unique_ptr<StepProgram> make_program(const Cell& cell, const workloads::Workload& workload, DeviceRoom& room,
                                          const ProgramOptions& options);

}  // namespace stepgauge::worker
