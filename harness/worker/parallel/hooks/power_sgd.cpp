// Hook power_sgd: a low-rank approximation of every matrix of gradients by one step of power iteration (Vogels,
// Karimireddy, Jaggi: PowerSGD, NeurIPS 2019, algorithm 1), warm-started, with error feedback.
#include "worker/data_source.hpp"
#include "worker/parallel/hooks/lane.hpp"
#include "worker/parallel/hooks/parameter_state.hpp"

namespace stepgauge::worker {
namespace {

constexpr std::uint64_t seed = 20190531;  ///< of the first right factors: the same on every rank
constexpr double smallest_norm = 1e-30;   ///< a column of zeros stays zeros

/// Rows x columns of a gradient: its first dimension by the others, in the order of memory.
struct Shape {
  std::int64_t rows = 0, columns = 0, rank = 0;
  /// The factors are smaller than what they stand for; vectors never are.
  bool worth_it() const { return rank > 0 && (rows + columns) * rank < rows * columns; }
};

Shape shape_of(const torch::Tensor& parameter, int rank) {
  if (parameter.dim() < 2 || parameter.numel() == 0) return {};
  Shape out{parameter.size(0), parameter.numel() / parameter.size(0), 0};
  out.rank = std::min<std::int64_t>({rank, out.rows, out.columns});
  return out;
}

/// Gram-Schmidt over the columns, at least in fp32, in place; twice, since one pass leaves a column that was nearly
/// dependent far from orthogonal. A QR of the library would wait for the device.
void orthogonalise(const torch::Tensor& matrix) {
  const auto type = matrix.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat32;
  const auto work = matrix.to(type);
  for (std::int64_t i = 0; i < work.size(1); ++i) {
    auto column = work.narrow(1, i, 1);
    const auto before = work.narrow(1, 0, i);
    for (int pass = 0; pass < 2; ++pass) {
      if (i > 0) column.sub_(before.mm(before.t().mm(column)));
      column.div_(at::linalg_vector_norm(column).clamp_min(smallest_norm));
      if (i == 0) break;
    }
  }
  if (matrix.scalar_type() != type) matrix.copy_(work);
}

class PowerSgdHook final : public GradientHook {
 public:
  PowerSgdHook(const CellDdp& options, Group group, const std::vector<torch::Tensor>& parameters)
      : group_(std::move(group)),
        rank_(options.hook_rank),
        index_(parameters),
        residuals_(parameters, options.error_feedback),
        lane_(parameters.front().device()) {
    for (const auto& parameter : parameters) {
      const auto shape = shape_of(parameter, rank_);
      right_.push_back(shape.worth_it() ? torch::empty({shape.columns, shape.rank}, parameter.detach().options())
                                        : torch::Tensor());
    }
    draw();
  }

  HookFuture runHook(c10d::GradBucket& bucket) override {
    return lane_.run([this, buffer = bucket.getBuffer(), parameters = bucket.getParameters()]() mutable {
      return reduce(buffer, parameters);
    });
  }

  std::int64_t state_bytes() const override {
    auto out = residuals_.bytes();
    for (const auto& factor : right_) out += factor.defined() ? static_cast<std::int64_t>(factor.nbytes()) : 0;
    return out;
  }
  void restart() override {
    residuals_.restart();
    draw();
  }

 private:
  struct Matrix {
    torch::Tensor gradient;    ///< [n, m], in the bucket
    torch::Tensor right;       ///< [m, r], orthonormal, kept from step to step
    torch::Tensor left, next;  ///< [n, r] and [m, r], in what is sent
  };
  /// A bucket taken apart. What is sent of all its matrices stands in one tensor a round.
  struct Parts {
    std::vector<Matrix> matrices;
    std::vector<torch::Tensor> vectors;  ///< sent as they are
    torch::Tensor lefts, nexts;
  };

  /// Random right factors, drawn on the host in the order of the parameters: the same numbers on every rank and device.
  void draw() {
    const torch::NoGradGuard no_grad;
    auto generator = make_generator(torch::kCPU, seed);
    for (auto& factor : right_) {
      if (!factor.defined()) continue;
      const auto numbers = torch::randn(factor.sizes(), generator, torch::TensorOptions(torch::kFloat32));
      orthogonalise(numbers);
      factor.copy_(numbers);
    }
  }

  Parts take_apart(const torch::Tensor& buffer, const std::vector<torch::Tensor>& parameters) const {
    Parts out;
    std::int64_t offset = 0, lefts = 0, nexts = 0;
    for (const auto& parameter : parameters) {
      const auto flat = buffer.slice(0, offset, offset + parameter.numel());
      offset += parameter.numel();
      const auto& right = right_[index_.of(parameter)];
      if (!right.defined()) {
        out.vectors.push_back(flat);
        continue;
      }
      out.matrices.push_back({flat.view({parameter.size(0), right.size(0)}), right, {}, {}});
      lefts += parameter.size(0) * right.size(1);
      nexts += right.numel();
    }
    out.lefts = torch::empty({lefts}, buffer.options());
    out.nexts = torch::empty({nexts}, buffer.options());
    lefts = nexts = 0;
    for (auto& matrix : out.matrices) {
      matrix.left = part(out.lefts, lefts, matrix.gradient.size(0), matrix.right.size(1));
      matrix.next = part(out.nexts, nexts, matrix.right.size(0), matrix.right.size(1));
    }
    return out;
  }

  static torch::Tensor part(const torch::Tensor& all, std::int64_t& offset, std::int64_t rows, std::int64_t columns) {
    const auto begin = offset;
    offset += rows * columns;
    return all.slice(0, begin, offset).view({rows, columns});
  }

  torch::Tensor reduce(torch::Tensor& buffer, const std::vector<torch::Tensor>& parameters) {
    residuals_.add_to(buffer, parameters);
    auto parts = take_apart(buffer, parameters);
    torch::Tensor plain;
    c10::intrusive_ptr<c10d::Work> plain_work;
    if (!parts.vectors.empty()) {
      plain = at::cat(parts.vectors);
      plain_work = start_mean(group_, plain);
    }
    if (!parts.matrices.empty()) {
      const auto before = residuals_.wanted() ? buffer.clone() : torch::Tensor();
      approximate(parts);
      if (residuals_.wanted()) residuals_.keep(before.sub(buffer), parameters);
    }
    if (plain_work) {
      plain_work->wait();
      std::int64_t offset = 0;
      for (auto& vector : parts.vectors) {
        vector.copy_(plain.slice(0, offset, offset + vector.numel()));
        offset += vector.numel();
      }
    }
    return buffer;
  }

  /// P = M Q, summed and orthogonalised; Q = M^T P, the mean of it; M becomes P Q^T, and the next step starts from Q.
  void approximate(Parts& parts) const {
    for (auto& matrix : parts.matrices) at::mm_out(matrix.left, matrix.gradient, matrix.right);
    start_mean(group_, parts.lefts)->wait();
    for (auto& matrix : parts.matrices) {
      orthogonalise(matrix.left);
      at::mm_out(matrix.next, matrix.gradient.t(), matrix.left);
    }
    start_mean(group_, parts.nexts)->wait();
    for (auto& matrix : parts.matrices) {
      at::mm_out(matrix.gradient, matrix.left, matrix.next.t());
      orthogonalise(matrix.next);
      // A column that came to nothing (no gradient in this step) would stay nothing for good.
      const auto lengths = at::linalg_vector_norm(matrix.next, 2, {0}, /*keepdim=*/true);
      matrix.right.copy_(at::where(lengths > 0.5, matrix.next, matrix.right));
    }
  }

  Group group_;
  int rank_;
  ParameterIndex index_;
  Residuals residuals_;
  std::vector<torch::Tensor> right_;  ///< by parameter; undefined for those that are sent as they are
  HookLane lane_;
};

}  // namespace

std::unique_ptr<GradientHook> make_power_sgd_hook(const CellDdp& options, Group group,
                                                  const std::vector<torch::Tensor>& parameters) {
  return std::make_unique<PowerSgdHook>(options, std::move(group), parameters);
}

}  // namespace stepgauge::worker
