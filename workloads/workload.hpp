#pragma once
// One interface for everything that can be trained, and the registry that finds it by name.
// Adding a workload is one folder: workload.json (name, presets, sizes; read by the CLI too), its C++ source
// and its Python twin.
#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workloads/recompute.hpp"

namespace stepgauge::workloads {

/// One micro-batch on the device: what the model reads and what its loss compares with.
struct Batch {
  torch::Tensor input;   ///< ResNet: [batch, 3, image, image] float; Llama: [batch, sequence] int64 token ids
  torch::Tensor target;  ///< ResNet: [batch] int64 classes; Llama: [batch, sequence] int64 next tokens
};

/// FLOPs that the model's mathematics needs for one training step of one rank; recomputation never counts.
struct ModelFlops {
  double per_step = 0;  ///< forward + backward, multiply and add counted apart
  std::string formula;  ///< printed in the record
};

/// A trainable model whose parameter names equal those of the public reference implementation.
class Model : public torch::nn::Module {
 public:
  /// Forward pass and mean loss over the batch (scalar, fp32), ready for backward().
  virtual torch::Tensor loss(const Batch& batch) = 0;

  /// Number of its blocks (decoder layers, residual blocks): what activation checkpointing chooses from.
  virtual std::size_t blocks() const = 0;
  Recomputation& recomputation() { return recomputation_; }

 private:
  Recomputation recomputation_;
};

/// A workload with every size resolved (`sizes` as in the cell, validated against workload.json by the CLI).
class Workload {
 public:
  virtual ~Workload() = default;

  /// Builds the model directly on `options.device()` in `options.dtype()`, initial weights drawn from
  /// `generator` (ignored on the meta device). Buffers that must stay fp32 (batch-norm statistics) are fp32
  /// whatever the dtype.
  virtual std::shared_ptr<Model> build(const torch::TensorOptions& options, torch::Generator generator) const = 0;

  /// Synthetic data for one rank and step, drawn on the device from `generator`. Floating inputs have
  /// `dtype`.
  virtual Batch make_batch(int64_t batch, torch::Device device, torch::Dtype dtype,
                           torch::Generator generator) const = 0;

  /// Targets, and inputs that are no floating numbers, are in [0, categories()): the vocabulary, the classes.
  virtual int64_t categories() const = 0;

  virtual ModelFlops flops(int64_t batch) const = 0;

  /// Units of work in one step of one rank: images for ResNet, tokens (batch x sequence) for Llama.
  virtual int64_t work_per_step(int64_t batch) const = 0;
  virtual std::string work_unit() const = 0;  ///< "samples" or "tokens"
};

/// Builds the workload of a cell: `family` as in workload.json ("resnet", "llama"), `sizes` with every value
/// present. Throws std::invalid_argument naming the known families when there is none of that name.
std::unique_ptr<Workload> make_workload(const std::string& family, const nlohmann::json& sizes);

}  // namespace stepgauge::workloads
