#pragma once
// The C++ modes: eager, and those that replace a part of the eager step.
#include "worker/training.hpp"

namespace stepgauge::worker {

class EagerProgram : public StepProgram {
 public:
  EagerProgram(const Cell& cell, const workloads::Workload& workload, DeviceRoom& room, int rank)
      : training_(cell, workload, room, rank), mark_([this](const char* phase) { mark(phase); }) {}

  void wrap(RankGroup& group) override { training_.wrap(group); }
  torch::Tensor step() override {
    training_.next_batch(mark_);
    auto loss = training_.forward_backward(mark_);
    training_.optimizer_step(mark_);
    return loss;
  }
  void restart() override { training_.restart(); }
  void restart_from(const workloads::Model& initial) { training_.restart_from(initial); }
  void set_batch(const workloads::Batch& batch) override { training_.set_batch(batch); }
  NamedTensors parameters() const override { return training_.parameters(); }
  Json settings() const override { return training_.settings(); }
  std::vector<std::int64_t> bucket_bytes() const override { return training_.bucket_bytes(); }
  std::int64_t hook_state_bytes() const override { return training_.hook_state_bytes(); }
  bool set_reduction(bool on) override { return training_.set_reduction(on); }
  void reduce_alone() override { training_.reduce_alone(); }
  std::size_t blocks() const override { return training_.model().blocks(); }
  std::optional<std::int64_t> recomputed_blocks() const override {
    return training_.model().recomputation().recomputed();
  }

 protected:
  Training training_;
  const Training::Mark mark_;
};

}  // namespace stepgauge::worker
