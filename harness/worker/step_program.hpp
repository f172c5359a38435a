#pragma once
// What the worker measures: one interface for every mode, so that one loop, one set of probes and one trace
// serve all of them.
#include <torch/torch.h>

#include <memory>

#include "contract/cell.hpp"
#include "worker/trace/step_marks.hpp"
#include "workloads/workload.hpp"

namespace stepgauge::worker {

class DataParallel;
class RankGroup;
class DeviceRoom;

class StepProgram {
 public:
  virtual ~StepProgram() = default;
  /// Runs one training iteration (forward, backward, gradient reduction, optimizer) and returns its detached
  /// loss, still on the device. Submits work only; never waits for the device.
  virtual torch::Tensor step() = 0;
  /// What was set and what is seen in the tensors, for the record's asked/set/used.
  virtual Json settings() const = 0;
  /// Bytes of each gradient bucket as planned now; empty for one rank.
  virtual std::vector<std::int64_t> bucket_bytes() const { return {}; }

  /// Marks of the phases of every step from now on; nullptr: none.
  void set_marks(StepMarks* marks) { marks_ = marks; }

 protected:
  void mark(const char* phase) {
    if (marks_ != nullptr) marks_->phase(phase);
  }

 private:
  StepMarks* marks_ = nullptr;
};

/// Phase `build`: model, data and optimizer of an eager cell on the device; `group` is null for one rank.
/// Phase `wrap` happens in wrap(), so that the two are timed apart.
class EagerProgram final : public StepProgram {
 public:
  EagerProgram(const Cell& cell, const workloads::Workload& workload, DeviceRoom& room, int rank);
  ~EagerProgram() override;
  void wrap(RankGroup& group);
  torch::Tensor step() override;
  Json settings() const override;
  std::vector<std::int64_t> bucket_bytes() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepgauge::worker
