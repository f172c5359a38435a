#pragma once
// Compile mode torchscript: the loss of the C++ model is traced into a graph, which TorchScript's executor runs and
// differentiates; optimizer, data parallelism and loop are those of eager.
#include <torch/csrc/jit/api/module.h>

#include "worker/eager_program.hpp"

namespace stepgauge::worker {

class TorchScriptProgram final : public EagerProgram {
 public:
  TorchScriptProgram(const Cell& cell, const workloads::Workload& workload, DeviceRoom& room,
                     const ProgramOptions& options);
  /// Traces the loss on the cell's batch. Profiling and optimisation follow inside the first steps.
  void prepare() override;
  Json compile_report() const override;
  Json ir_census() override;
  void finish() override;

 private:
  void write_graphs() const;

  CellCompileOptions options_;
  std::string cell_id_, mode_, graphs_path_;
  std::optional<torch::jit::Module> module_;
  std::shared_ptr<torch::jit::Graph> raw_;
  double trace_s_ = 0;
  double trace_heap_mib_ = 0, trace_rss_mib_ = 0;
};

}  // namespace stepgauge::worker
