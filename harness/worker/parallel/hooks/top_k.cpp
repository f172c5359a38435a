// Hooks top_k and top_k_fp8: the largest elements of a bucket and their places.
#include <cmath>

#include "worker/parallel/hooks/fp8.hpp"
#include "worker/parallel/hooks/lane.hpp"
#include "worker/parallel/hooks/parameter_state.hpp"

namespace stepgauge::worker {
namespace {

/// What a rank sends of a bucket in one piece: [scale (fp32), e4m3 only] [places (int32) x k] [values x k], the values
/// and the whole at multiples of eight bytes, so that each rank's part can be read in place.
struct RowLayout {
  std::int64_t k, scale_bytes, values_begin, values_end;
  torch::Dtype value_type;

  RowLayout(std::int64_t count, torch::Dtype type)
      : k(count),
        scale_bytes(type == torch::kFloat8_e4m3fn ? 4 : 0),
        values_begin(aligned(scale_bytes + 4 * count)),
        values_end(values_begin + count * static_cast<std::int64_t>(c10::elementSize(type))),
        value_type(type) {}
  static std::int64_t aligned(std::int64_t bytes) { return (bytes + 7) / 8 * 8; }
  std::int64_t bytes() const { return aligned(values_end); }
  torch::Tensor scale(const torch::Tensor& row) const { return row.slice(0, 0, 4).view(torch::kFloat32)[0]; }
  torch::Tensor places(const torch::Tensor& row) const {
    return row.slice(0, scale_bytes, scale_bytes + 4 * k).view(torch::kInt32);
  }
  torch::Tensor values(const torch::Tensor& row) const {
    return row.slice(0, values_begin, values_end).view(value_type);
  }
};

class TopKHook final : public GradientHook {
 public:
  TopKHook(const CellDdp& options, Group group, const std::vector<torch::Tensor>& parameters)
      : group_(std::move(group)),
        share_(options.hook_share),
        fp8_(options.hook == "top_k_fp8"),
        residuals_(parameters, options.error_feedback),
        lane_(parameters.front().device()) {}

  HookFuture runHook(c10d::GradBucket& bucket) override {
    return lane_.run([this, buffer = bucket.getBuffer(), parameters = bucket.getParameters()]() mutable {
      const auto count = std::llround(share_ * static_cast<double>(buffer.numel()));
      const RowLayout layout(std::max<std::int64_t>(1, count),
                             fp8_ ? torch::kFloat8_e4m3fn : torch::Dtype(buffer.scalar_type()));
      residuals_.add_to(buffer, parameters);
      auto row = pack(buffer, layout);
      residuals_.keep(buffer, parameters);
      auto gathered = torch::empty({group_->getSize(), row.numel()}, row.options());
      start_all_gather(group_, gathered, row)->wait();
      return unpack(buffer, gathered, layout);
    });
  }

  std::int64_t state_bytes() const override { return residuals_.bytes(); }
  void restart() override { residuals_.restart(); }

 private:
  /// The row to send; in `buffer` is left what it does not say.
  torch::Tensor pack(torch::Tensor& buffer, const RowLayout& layout) const {
    auto row = torch::zeros({layout.bytes()}, buffer.options().dtype(torch::kUInt8));
    const auto chosen = std::get<1>(at::topk(buffer.abs(), layout.k, 0, /*largest=*/true, /*sorted=*/false));
    const auto values = buffer.index_select(0, chosen);
    layout.places(row).copy_(chosen);
    if (!fp8_) {
      layout.values(row).copy_(values);
      buffer.index_fill_(0, chosen, 0);
      return row;
    }
    const auto scale = e4m3_scale(largest_magnitude(values));
    const auto sent = to_e4m3(values, scale);
    layout.scale(row).copy_(scale);
    layout.values(row).view(torch::kUInt8).copy_(sent.view(torch::kUInt8));
    buffer.index_copy_(0, chosen, values.sub(sent.to(torch::kFloat32).mul_(scale).to(values.scalar_type())));
    return row;
  }

  /// The mean of what the ranks sent. Rank after rank, so that every rank adds in the same order: within one no place
  /// stands twice.
  torch::Tensor unpack(torch::Tensor& buffer, const torch::Tensor& gathered, const RowLayout& layout) const {
    const double share = 1.0 / group_->getSize();
    buffer.zero_();
    for (const auto& row : gathered.unbind(0)) {
      auto values = layout.values(row);
      if (fp8_) values = values.to(torch::kFloat32).mul_(layout.scale(row)).to(buffer.scalar_type());
      buffer.index_add_(0, layout.places(row), values, share);
    }
    return buffer;
  }

  Group group_;
  double share_;
  bool fp8_;
  Residuals residuals_;
  HookLane lane_;
};

}  // namespace

std::unique_ptr<GradientHook> make_top_k_hook(const CellDdp& options, Group group,
                                              const std::vector<torch::Tensor>& parameters) {
  return std::make_unique<TopKHook>(options, std::move(group), parameters);
}

}  // namespace stepgauge::worker
