#pragma once
// DistributedDataParallel for a C++ module: what torch.nn.parallel.DistributedDataParallel does around the
// same c10d::Reducer.
#include <torch/torch.h>

#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <vector>

#include "contract/cell.hpp"

namespace stepgauge::worker {

class DataParallel {
 public:
  /// Verifies that all ranks have the same parameters (those that require a gradient count), broadcasts rank 0's
  /// parameters and buffers, assigns buckets and builds the Reducer.
  DataParallel(const std::vector<std::pair<std::string, torch::Tensor>>& parameters, std::vector<torch::Tensor> buffers,
               c10::intrusive_ptr<c10d::ProcessGroup> group, const CellDdp& options);

  /// Before the forward pass: rebuilds the buckets once (in the order in which gradients became ready),
  /// broadcasts buffers as DDP does.
  void before_forward();

  /// Between forward and backward; returns the loss to call backward() on.
  torch::Tensor before_backward(const torch::Tensor& loss);

  /// Bucket sizes in bytes as planned now, for the record.
  std::vector<std::int64_t> bucket_bytes() const;

 private:
  void build_reducer(std::unordered_map<std::size_t, std::string> names, const CellDdp& options);

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::vector<torch::Tensor> parameters_, buffers_;
  std::shared_ptr<c10d::Reducer> reducer_;
  bool find_unused_ = false, static_graph_ = false, first_ = true;
};

}  // namespace stepgauge::worker
