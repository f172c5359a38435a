#pragma once
// Modes python_eager and compile.*: the step is the Python twin's, the loop, the data and the initial weights are ours.
#include "worker/parallel/ddp.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/precision/precision.hpp"
#include "worker/python/python_engine.hpp"
#include "worker/training.hpp"

namespace stepgauge::worker {

class PythonProgram final : public StepProgram {
 public:
  PythonProgram(const Cell& cell, const workloads::Workload& workload, DeviceRoom& room, const ProgramOptions& options);
  void wrap(RankGroup& group) override;
  void prepare() override { engine_->prepare(); }
  torch::Tensor step() override;
  void end_of_warmup() override;
  void restart() override;
  void set_batch(const workloads::Batch& batch) override;
  NamedTensors parameters() const override { return engine_->parameters(); }
  Json settings() const override;
  Json compile_report() const override;
  std::size_t blocks() const override { return blocks_; }
  std::optional<std::int64_t> recomputed_blocks() const override { return engine_->recomputed(); }
  Json ir_census() override { return engine_->census(); }
  void finish() override;
  std::vector<std::int64_t> bucket_bytes() const override;

 private:
  torch::Tensor step_with_reducer();
  void use(const workloads::Batch& batch);

  const Cell cell_;
  const workloads::Workload& workload_;
  const torch::Device device_;
  const PrecisionPolicy policy_;
  const bool graphs_;
  std::size_t blocks_ = 0;
  DataSource data_;
  workloads::Batch batch_;
  std::unique_ptr<PythonEngine> engine_;
  std::unique_ptr<DataParallel> reducer_;
};

}  // namespace stepgauge::worker
