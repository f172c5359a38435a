#pragma once
// Fused optimizers: one or a few kernels for all parameters, as Python's fused=True. torch::optim in C++
// steps parameter by parameter.
#include <torch/torch.h>

#include <memory>
#include <optional>
#include <vector>

#include "contract/cell.hpp"
#include "worker/precision/precision.hpp"

namespace stepgauge::worker {

class FusedOptimizer {
 public:
  virtual ~FusedOptimizer() = default;
  /// One update from the parameters' gradients; with a scaler it unscales, and does nothing where it found an
  /// infinity.
  virtual void step(LossScaler* scaler) = 0;
  void clear_gradients();
  /// As before the first step, in place.
  void restart();

 protected:
  /// Parameters of one type, which a fused kernel takes together.
  struct Group {
    std::vector<torch::Tensor> parameters, gradients, first, second, steps;
  };
  explicit FusedOptimizer(const std::vector<torch::Tensor>& parameters);
  /// Collects the gradients; throws when a parameter has none (the loss does not reach it).
  void gather(Group& group);

  /// What a fused kernel takes of a loss scaler: nothing without one.
  struct Scaling {
    std::optional<at::Tensor> factor, found_inf;
  };
  /// gather(), then the scaler's look at the gradients.
  Scaling prepare(Group& group, LossScaler* scaler);

  std::vector<Group> groups_;
};

/// "sgd" (momentum, L2) or "adamw" (betas 0.9, 0.999; eps 1e-8; decoupled decay), PyTorch's defaults
/// otherwise.
std::unique_ptr<FusedOptimizer> make_optimizer(const CellOptimizer& options,
                                               const std::vector<torch::Tensor>& parameters);

}  // namespace stepgauge::worker
