#pragma once
// Compile modes cuda_graph (the whole step in one CUDA graph) and cuda_graph.forward_backward (all but the optimizer).
#include "worker/eager_program.hpp"

namespace stepgauge::worker {

class GraphProgram final : public EagerProgram {
 public:
  GraphProgram(const Cell& cell, const workloads::Workload& workload, DeviceRoom& room, int rank);
  /// Eager steps on the capturing stream (DDP times its first ten, cuDNN chooses its algorithms), then the capture;
  /// then training starts anew.
  void prepare() override;
  void wrap(RankGroup& group) override;
  torch::Tensor step() override;
  /// Marks that hold in the device's order are captured into a second graph, on their first use.
  void set_marks(StepMarks* marks) override;
  TrafficByKind captured_traffic() const override { return traffic_; }
  /// Captures the step without its reduction, on the first use.
  bool set_reduction(bool on) override;
  Json compile_report() const override;
  Json ir_census() override;

 private:
  struct Captured {
    std::unique_ptr<DeviceGraph> graph;
    torch::Tensor loss;
    std::vector<torch::Tensor> gradients;  ///< what its replays write, in the order of the parameters
  };
  Captured capture();
  /// Makes the graph's gradients those of the parameters: for the optimizer outside it, and for who looks at them.
  void install(const Captured& captured);

  DeviceRoom& room_;
  const std::string mode_;
  const bool whole_;
  Captured plain_, marked_, unreduced_;
  RankGroup* group_ = nullptr;
  TrafficByKind traffic_;
  bool reduces_ = true;
  const torch::Tensor* installed_ = nullptr;  ///< first of the gradients that the parameters have now
  double warmup_s_ = 0, capture_s_ = 0;
};

}  // namespace stepgauge::worker
