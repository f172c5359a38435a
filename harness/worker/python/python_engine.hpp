#pragma once
// The Python side of a cell whose step is Python's, as the C++ side drives it (stepgauge_engine.Engine). Implemented in
// libstepgauge_python.so; the C++ side holds no Python object and needs no GIL.
#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "contract/json_io.hpp"
#include "worker/step_program.hpp"

namespace stepgauge::worker {

class PythonEngine {
 public:
  virtual ~PythonEngine() = default;
  virtual void set_batch(const workloads::Batch& batch) = 0;
  /// PyTorch's own DistributedDataParallel over `group`.
  virtual void wrap(const c10::intrusive_ptr<c10d::ProcessGroup>& group) = 0;
  virtual void prepare() = 0;
  virtual torch::Tensor step(StepMarks* marks) = 0;
  // The pieces of a step, for our own Reducer between them.
  virtual void clear_gradients() = 0;
  virtual torch::Tensor forward() = 0;
  virtual torch::Tensor scaled(const torch::Tensor& loss) = 0;  ///< times the loss scale, where there is one
  virtual void optimizer_step() = 0;
  virtual NamedTensors parameters() = 0;
  virtual std::vector<torch::Tensor> buffers() = 0;
  virtual void reset(const NamedTensors& parameters, const NamedTensors& buffers) = 0;
  virtual void mark_late() = 0;
  virtual Json report() = 0;
  virtual Json settings() = 0;
  virtual Json census() = 0;
  virtual std::optional<std::int64_t> recomputed() = 0;
  virtual void write_graphs() = 0;
  virtual void stamp_cache() = 0;
};

/// The twin of the cell's workload around the given tensors, which it shares. `options` as stepgauge_engine.Engine.
std::unique_ptr<PythonEngine> make_python_engine(const Cell& cell, torch::Device device, const NamedTensors& parameters,
                                                 const NamedTensors& buffers, const Json& options);

}  // namespace stepgauge::worker
