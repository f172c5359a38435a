#pragma once
// DistributedDataParallel for a C++ module: what torch.nn.parallel.DistributedDataParallel does around the
// same c10d::Reducer.
#include <torch/torch.h>

#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <vector>

#include "contract/cell.hpp"
#include "worker/parallel/overlap.hpp"

namespace stepgauge::worker {

class DataParallel {
 public:
  /// Verifies that all ranks have the same parameters (those that require a gradient count), broadcasts rank 0's
  /// parameters and buffers, assigns buckets and builds the Reducer with the hooks that `options` ask for. `update` is
  /// for overlap optimizer_in_hook alone.
  DataParallel(const std::vector<std::pair<std::string, torch::Tensor>>& parameters, std::vector<torch::Tensor> buffers,
               c10::intrusive_ptr<c10d::ProcessGroup> group, const CellDdp& options, UpdatePart update = {});

  /// Before the first forward pass of a step: rebuilds the buckets once (in the order in which gradients became ready),
  /// broadcasts buffers as DDP does.
  void begin_step();
  /// Before the forward pass whose gradients are reduced.
  void before_forward();

  /// Between forward and backward; returns the loss to call backward() on. A backward pass without it reduces nothing
  /// and adds its gradients to those that are there.
  torch::Tensor before_backward(const torch::Tensor& loss);

  /// Reduces the buckets as they are now, one behind the other, as a step does but with nothing beside it; submits
  /// only. What the hook keeps goes on from there.
  void reduce_alone();
  /// As before the first step: what the hook keeps, in place.
  void restart() { reduce_->restart(); }
  /// Bytes of what the hook keeps from step to step.
  std::int64_t hook_state_bytes() const { return reduce_->state_bytes(); }

  /// Bucket sizes in bytes as planned now, for the record.
  std::vector<std::int64_t> bucket_bytes() const;

 private:
  void build_reducer(std::unordered_map<std::size_t, std::string> names, const CellDdp& options);
  void use_hooks(const CellDdp& options, UpdatePart update);

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::vector<torch::Tensor> parameters_, buffers_;
  std::shared_ptr<c10d::Reducer> reducer_;
  GradientHook* reduce_ = nullptr;            ///< reduces one bucket; the Reducer's, or own_reduce_
  std::unique_ptr<GradientHook> own_reduce_;  ///< where the Reducer needs no hook: for reduce_alone()
  bool find_unused_ = false, static_graph_ = false, first_ = true;
};

}  // namespace stepgauge::worker
