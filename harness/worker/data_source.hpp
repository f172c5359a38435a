#pragma once
// The batches of a cell: one for all steps, or a new one each step; the same for every mode and for the reference.
#include <torch/torch.h>

#include "contract/cell.hpp"
#include "workloads/workload.hpp"

namespace stepgauge::worker {

/// A generator of the device that starts at `seed` and is nobody else's.
torch::Generator make_generator(torch::Device device, std::uint64_t seed);

class DataSource {
 public:
  /// Batches of rank `rank`: their numbers depend on the cell's seed and the rank alone; floating inputs are drawn in
  /// `dtype`.
  DataSource(const Cell& cell, const workloads::Workload& workload, torch::Device device, torch::Dtype dtype, int rank,
             std::uint64_t stream = 17);

  workloads::Batch draw();

  /// Whether each step takes a new batch: by the cell's input, until its program was given one.
  bool every_step() const { return every_step_; }
  /// The program was given a batch for the steps from now on.
  void give_way() { every_step_ = false; }

 private:
  const workloads::Workload& workload_;
  std::int64_t batch_;
  torch::Device device_;
  torch::Dtype dtype_;
  bool channels_last_, skewed_, every_step_;
  torch::Generator generator_;
};

/// The batch with floating inputs in another type; memory format as it was.
workloads::Batch converted(const workloads::Batch& batch, torch::Dtype dtype);

}  // namespace stepgauge::worker
