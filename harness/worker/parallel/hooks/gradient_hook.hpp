#pragma once
// What happens to a bucket of gradients between the Reducer and the wire (docs/communication.md): a communication hook
// as DDP knows it, which also says how much state it keeps and can start anew.
#include <torch/torch.h>

#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <vector>

#include "contract/cell.hpp"

namespace stepgauge::worker {

using HookFuture = c10::intrusive_ptr<c10::ivalue::Future>;
using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

class GradientHook : public c10d::CommHookInterface {
 public:
  /// The future's value is the bucket's buffer, in which the mean over the ranks stands in the end. Never waits for a
  /// device; every rank makes the same collectives in the same order.
  HookFuture runHook(c10d::GradBucket& bucket) override = 0;
  at::Tensor parseHookResult(const c10::IValue& result) override {
    return c10d::detail::parseCppCommHookResult(result);
  }
  /// Bytes of what is kept from step to step: residuals, warm starts.
  virtual std::int64_t state_bytes() const { return 0; }
  /// As before the first step, in place, so that a captured program sees it.
  virtual void restart() {}
};

/// The hook of `options.hook` ("": the mean of the gradients as they are). `parameters` are the Reducer's: state is
/// kept for each of them, in this order on every rank, whatever the buckets are. Throws UnsupportedCell for an unknown
/// name.
std::unique_ptr<GradientHook> make_gradient_hook(const CellDdp& options, Group group,
                                                 const std::vector<torch::Tensor>& parameters);

/// Starts the all-reduce that leaves the mean over the ranks in `tensor`. NCCL divides on the way; elsewhere the tensor
/// is divided first, as DDP does, so that fp16 does not overflow.
c10::intrusive_ptr<c10d::Work> start_mean(const Group& group, torch::Tensor& tensor);
/// Starts the all-reduce of `tensor` with another operation.
c10::intrusive_ptr<c10d::Work> start_all_reduce(const Group& group, torch::Tensor& tensor, c10d::ReduceOp operation);
/// Starts the all-gather of equally long rows: row r of `out` [ranks, length] is rank r's `row` [length].
c10::intrusive_ptr<c10d::Work> start_all_gather(const Group& group, torch::Tensor& out, torch::Tensor& row);

/// The parts of a bucket's flat tensor that belong to its parameters, each with its parameter's shape and strides where
/// that is dense (the layout that the Reducer gives them), else contiguous.
std::vector<torch::Tensor> parameter_views(const torch::Tensor& flat, const std::vector<torch::Tensor>& parameters);

std::unique_ptr<GradientHook> make_mean_hook(Group group);
std::unique_ptr<GradientHook> make_cast_hook(Group group, torch::Dtype wire);
std::unique_ptr<GradientHook> make_fp8_hook(Group group, torch::Device device);
std::unique_ptr<GradientHook> make_top_k_hook(const CellDdp& options, Group group,
                                              const std::vector<torch::Tensor>& parameters);
std::unique_ptr<GradientHook> make_power_sgd_hook(const CellDdp& options, Group group,
                                                  const std::vector<torch::Tensor>& parameters);

}  // namespace stepgauge::worker
