// What the hooks share, and those that need one all-reduce: the mean as it is, and the mean in a narrower type.
#include "worker/parallel/hooks/gradient_hook.hpp"

#include "worker/device.hpp"

namespace stepgauge::worker {
namespace {

class MeanHook final : public GradientHook {
 public:
  explicit MeanHook(Group group) : group_(std::move(group)) {}
  HookFuture runHook(c10d::GradBucket& bucket) override {
    return start_mean(group_, bucket.getBufferRef())->getFuture();
  }

 private:
  Group group_;
};

/// Casts, reduces in the narrow type and casts back into the bucket.
class CastHook final : public GradientHook {
 public:
  CastHook(Group group, torch::Dtype wire) : group_(std::move(group)), wire_(wire) {}
  HookFuture runHook(c10d::GradBucket& bucket) override {
    auto buffer = bucket.getBuffer();
    torch::Tensor narrow;
    c10::intrusive_ptr<c10d::Work> work;
    if (wire_ == torch::kHalf) {  // its range is the smaller one: divided before it is cast
      narrow = buffer.div_(group_->getSize()).to(wire_);
      work = start_all_reduce(group_, narrow, c10d::ReduceOp::SUM);
    } else {
      narrow = buffer.to(wire_);
      work = start_mean(group_, narrow);
    }
    return work->getFuture()->then(
        [buffer](c10::ivalue::Future& done) -> c10::IValue {
          const torch::NoGradGuard no_grad;
          return buffer.copy_(c10d::detail::parseCppCommHookResult(done.value()));
        },
        c10::TensorType::get());
  }

 private:
  Group group_;
  torch::Dtype wire_;
};

}  // namespace

c10::intrusive_ptr<c10d::Work> start_all_reduce(const Group& group, torch::Tensor& tensor, c10d::ReduceOp operation) {
  std::vector<torch::Tensor> tensors{tensor};
  c10d::AllreduceOptions options;
  options.reduceOp = std::move(operation);
  return group->allreduce(tensors, options);
}

c10::intrusive_ptr<c10d::Work> start_mean(const Group& group, torch::Tensor& tensor) {
  if (tensor.is_cuda()) return start_all_reduce(group, tensor, c10d::ReduceOp::AVG);
  tensor.div_(group->getSize());
  return start_all_reduce(group, tensor, c10d::ReduceOp::SUM);
}

c10::intrusive_ptr<c10d::Work> start_all_gather(const Group& group, torch::Tensor& out, torch::Tensor& row) {
  auto flat = out.view({-1});  // gloo wants as many dimensions as the row has
  return group->_allgather_base(flat, row, c10d::AllgatherOptions());
}

std::vector<torch::Tensor> parameter_views(const torch::Tensor& flat, const std::vector<torch::Tensor>& parameters) {
  std::vector<torch::Tensor> out;
  std::int64_t offset = flat.storage_offset();
  for (const auto& parameter : parameters) {
    const auto contiguous = c10::contiguous_strides(parameter.sizes());
    const at::IntArrayRef strides =
        parameter.is_non_overlapping_and_dense() ? parameter.strides() : at::IntArrayRef(contiguous);
    out.push_back(flat.as_strided(parameter.sizes(), strides, offset));
    offset += parameter.numel();
  }
  return out;
}

std::unique_ptr<GradientHook> make_mean_hook(Group group) {
  return std::make_unique<MeanHook>(std::move(group));
}

std::unique_ptr<GradientHook> make_cast_hook(Group group, torch::Dtype wire) {
  return std::make_unique<CastHook>(std::move(group), wire);
}

std::unique_ptr<GradientHook> make_gradient_hook(const CellDdp& options, Group group,
                                                 const std::vector<torch::Tensor>& parameters) {
  const auto& name = options.hook;
  if (name.empty()) return make_mean_hook(std::move(group));
  if (name == "bf16") return make_cast_hook(std::move(group), torch::kBFloat16);
  if (name == "fp16") return make_cast_hook(std::move(group), torch::kHalf);
  if (name == "fp8") return make_fp8_hook(std::move(group), parameters.front().device());
  if (is_top_k(name)) return make_top_k_hook(options, std::move(group), parameters);
  if (name == "power_sgd") return make_power_sgd_hook(options, std::move(group), parameters);
  throw UnsupportedCell("this worker does not know hook \"" + name + "\"");
}

}  // namespace stepgauge::worker
