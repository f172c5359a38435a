// Hook fp8: e4m3 with one scale per bucket.
#include "worker/parallel/hooks/fp8.hpp"

#include "worker/parallel/hooks/lane.hpp"

namespace stepgauge::worker {
namespace {

/// No backend adds e4m3: the bytes of every rank are gathered and each rank sums them in fp32, in the order of the
/// ranks, so that all get the same bits.
class Fp8Hook final : public GradientHook {
 public:
  Fp8Hook(Group group, torch::Device device) : group_(std::move(group)), lane_(device) {}

  HookFuture runHook(c10d::GradBucket& bucket) override {
    return lane_.run([this, buffer = bucket.getBuffer()]() mutable {
      const auto ranks = group_->getSize();
      auto largest = largest_magnitude(buffer);
      start_all_reduce(group_, largest, c10d::ReduceOp::MAX)->wait();
      const auto scale = e4m3_scale(largest);
      auto bytes = to_e4m3(buffer, scale).view(torch::kUInt8);
      auto gathered = torch::empty({ranks, bytes.numel()}, bytes.options());
      start_all_gather(group_, gathered, bytes)->wait();
      const auto values = gathered.view(torch::kFloat8_e4m3fn);
      auto sum = values[0].to(torch::kFloat32);
      for (int rank = 1; rank < ranks; ++rank) sum.add_(values[rank].to(torch::kFloat32));
      return buffer.copy_(sum.mul_(scale / ranks));
    });
  }

 private:
  Group group_;
  HookLane lane_;
};

}  // namespace

torch::Tensor largest_magnitude(const torch::Tensor& values) {
  return at::linalg_vector_norm(values, std::numeric_limits<double>::infinity(), {}, false, torch::kFloat32);
}

torch::Tensor e4m3_scale(const torch::Tensor& largest) {
  return at::where(largest == 0, at::ones_like(largest), largest / e4m3_largest);
}

torch::Tensor to_e4m3(const torch::Tensor& values, const torch::Tensor& scale) {
  // Clamped: the quotient may round to more than the largest value, which e4m3 has no number for.
  return values.to(torch::kFloat32).div(scale).clamp_(-e4m3_largest, e4m3_largest).to(torch::kFloat8_e4m3fn);
}

std::unique_ptr<GradientHook> make_fp8_hook(Group group, torch::Device device) {
  return std::make_unique<Fp8Hook>(std::move(group), device);
}

}  // namespace stepgauge::worker
