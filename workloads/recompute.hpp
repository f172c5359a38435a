#pragma once
// Activation checkpointing (Chen et al. 2016) of a block of a model: its forward pass keeps nothing but its input, its
// backward pass computes it again first.
#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace stepgauge::workloads {

/// Which blocks of a model are recomputed, and how their backward pass runs.
struct RecomputePolicy {
  int every = 0;           ///< 0: none; 1: each block; k: the blocks k - 1, 2k - 1, ...
  bool reentrant = false;  ///< true: a whole backward pass inside the outer one, which adds to the parameters'
                           ///< gradients itself, as torch.utils.checkpoint(use_reentrant=True); false: the parameters
                           ///< are inputs of the block, whose gradients go through the outer graph

  bool applies(std::size_t block) const { return every > 0 && (block + 1) % static_cast<std::size_t>(every) == 0; }
};

/// Runs the blocks of one model and counts what it recomputes.
class Recomputation {
 public:
  using Block = std::function<torch::Tensor(const torch::Tensor&)>;

  void set_policy(const RecomputePolicy& policy) { policy_ = policy; }
  const RecomputePolicy& policy() const { return policy_; }
  void begin_step() { recomputed_ = 0; }
  /// Blocks computed again in this step.
  std::int64_t recomputed() const { return recomputed_; }

  /// block(x), recomputed in the backward pass where the policy says so for block `index` of the model; `owner` has the
  /// block's parameters. `block` must draw no random numbers: no generator is wound back.
  torch::Tensor run(std::size_t index, const torch::nn::Module& owner, const Block& block, const torch::Tensor& x);

 private:
  RecomputePolicy policy_;
  std::int64_t recomputed_ = 0;
};

}  // namespace stepgauge::workloads
