#pragma once
// The pieces of one training iteration in C++, which the C++ modes put together in their own ways: eagerly, behind a
// traced loss, inside a CUDA graph.
#include <torch/torch.h>

#include <functional>
#include <memory>

#include "contract/cell.hpp"
#include "worker/data_source.hpp"
#include "worker/device.hpp"
#include "worker/optimizer.hpp"
#include "worker/parallel/ddp.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/precision/precision.hpp"
#include "worker/step_program.hpp"

namespace stepgauge::worker {

class Training {
 public:
  using Loss = std::function<torch::Tensor(const workloads::Batch&)>;
  using Mark = std::function<void(const char*)>;

  /// Model, data and optimizer on the device.
  Training(const Cell& cell, const workloads::Workload& workload, DeviceRoom& room, int rank);
  void wrap(RankGroup& group);

  /// A new batch, one for each micro-step, where the cell wants one each step and none was given to it (set_batch).
  void next_batch(const Mark& mark);
  /// Clears the gradients, then forward and backward with the reduction of the gradients; the detached loss. Under
  /// ddp_no_sync_K that is K micro-steps, of which the last reduces; the loss is the mean of theirs.
  torch::Tensor forward_backward(const Mark& mark);
  void optimizer_step(const Mark& mark);

  /// Replaces the model's own loss; precision is its own business then.
  void set_loss(Loss loss) { loss_ = std::move(loss); }
  /// The batch of all micro-steps from now on, in place, so that a captured program sees it.
  void set_batch(const workloads::Batch& batch);
  void restart();
  /// The same with the weights of another model of the workload, converted.
  void restart_from(const workloads::Model& initial);

  workloads::Model& model() const { return *model_; }
  const workloads::Batch& batch() const { return batches_.front(); }
  const PrecisionPolicy& policy() const { return policy_; }
  NamedTensors parameters() const;
  std::vector<std::int64_t> bucket_bytes() const;
  /// Off: steps keep their gradients to themselves and the optimizer comes at the end. False where there is no
  /// reduction to leave out.
  bool set_reduction(bool on);
  /// The buckets' reductions with nothing beside them (DataParallel::reduce_alone).
  void reduce_alone();
  std::int64_t hook_state_bytes() const;
  Json settings() const;

 private:
  bool backward_left_out();
  bool stale_input();
  bool updates_in_hook() const;
  torch::Tensor micro_step(const workloads::Batch& batch, bool last, const Mark& mark);

  Cell cell_;
  const workloads::Workload& workload_;
  torch::Device device_;
  PrecisionPolicy policy_;
  std::shared_ptr<workloads::Model> model_;
  DataSource data_;
  const int micro_steps_;
  std::vector<workloads::Batch> batches_;  ///< of the micro-steps, in turn
  std::unique_ptr<FusedOptimizer> optimizer_;
  std::unique_ptr<DataParallel> parallel_;
  std::unique_ptr<LossScaler> scaler_;
  Loss loss_;
  std::int64_t steps_ = 0, batches_set_ = 0;
  bool reduction_ = true;
};

/// The model of a cell with its initial weights in the given type, and in the cell's memory format.
std::shared_ptr<workloads::Model> build_model(const Cell& cell, const workloads::Workload& workload,
                                              torch::Device device, torch::Dtype dtype);

/// Asked, set and used of any program, from what it has in its hands.
Json program_settings(const Cell& cell, const PrecisionPolicy& policy, torch::Device device,
                      const torch::Tensor& parameter, const torch::Tensor& input,
                      const std::vector<std::int64_t>& bucket_bytes);

/// Names of the model's parameters (buffers) with the tensors.
NamedTensors named_parameters(const torch::nn::Module& model);
NamedTensors named_buffers(const torch::nn::Module& model);

}  // namespace stepgauge::worker
