#pragma once
// Fused optimizers: one or a few kernels for all parameters, as Python's fused=True. torch::optim in C++
// steps parameter by parameter.
#include <torch/torch.h>

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "contract/cell.hpp"
#include "worker/precision/precision.hpp"

namespace stepgauge::worker {

class FusedOptimizer {
 public:
  virtual ~FusedOptimizer() = default;
  /// One update from the parameters' gradients; with a scaler it unscales, and does nothing where it found an
  /// infinity.
  void step(LossScaler* scaler);
  /// The update of some parameters, all of one type, from `gradients`; from any thread. All parts of a step together,
  /// ended by finish_parts(), are step() without a scaler, bit for bit.
  void step_part(const std::vector<torch::Tensor>& parameters, const std::vector<torch::Tensor>& gradients);
  /// Ends a step made of parts; throws when a parameter was not updated exactly once.
  void finish_parts();
  void clear_gradients();
  /// As before the first step, in place.
  void restart();

 protected:
  /// Parameters of one type, which a fused kernel takes together.
  struct Group {
    std::vector<torch::Tensor> parameters, gradients, first, second, steps;
  };
  explicit FusedOptimizer(const std::vector<torch::Tensor>& parameters);

  /// What a fused kernel takes of a loss scaler: nothing without one.
  struct Scaling {
    std::optional<at::Tensor> factor, found_inf;
  };
  /// The update of the group's parameters from its gradients.
  virtual void update(Group& group, const Scaling& scaling) = 0;
  /// Every parameter has been updated.
  virtual void end_step() {}

  std::vector<Group> groups_;

 private:
  /// Collects the gradients; throws when a parameter has none (the loss does not reach it).
  static void gather(Group& group);

  struct Place {
    std::size_t group = 0, index = 0;
    int updates = 0;  ///< by parts, in this step
  };
  std::unordered_map<const c10::TensorImpl*, Place> places_;
  std::mutex parts_;
};

/// "sgd" (momentum, L2) or "adamw" (betas 0.9, 0.999; eps 1e-8; decoupled decay), PyTorch's defaults
/// otherwise.
std::unique_ptr<FusedOptimizer> make_optimizer(const CellOptimizer& options,
                                               const std::vector<torch::Tensor>& parameters);

}  // namespace stepgauge::worker
