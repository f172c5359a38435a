#include "workloads/fp8.hpp"

#include <cmath>

namespace stepgauge::workloads {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Largest finite numbers of the two formats (OCP OFP8).
constexpr double largest_e4m3 = 448;
constexpr double largest_e5m2 = 57344;

struct Scaled {
  torch::Tensor values;   ///< fp8, row-major
  torch::Tensor inverse;  ///< what a product must be multiplied with, fp32 scalar
};

Scaled to_fp8(const torch::Tensor& x, Fp8Scaling& scaling, Fp8Scaling::Tensor which) {
  const bool gradient = which == Fp8Scaling::gradient;
  const double largest = gradient ? largest_e5m2 : largest_e4m3;
  const auto factor = scaling.factor(which, x, largest);
  return {at::mul(x, factor).clamp_(-largest, largest).to(gradient ? at::kFloat8_e5m2 : at::kFloat8_e4m3fn),
          factor.reciprocal()};
}

/// The same numbers stored column by column, as the second operand of a scaled product must be.
torch::Tensor column_major(const torch::Tensor& x) {
  return x.t().contiguous().t();
}

torch::Tensor product(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& scale_a,
                      const torch::Tensor& scale_b, at::ScalarType type, bool fast) {
  return at::_scaled_mm(a, b, scale_a, scale_b, {}, {}, type, fast);
}

struct Scaling : torch::CustomClassHolder {
  std::shared_ptr<Fp8Scaling> state;
};

struct Fp8Linear : torch::autograd::Function<Fp8Linear> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const torch::Tensor& weight,
                               const c10::intrusive_ptr<Scaling>& scaling) {
    const auto rows = x.reshape({-1, x.size(-1)});
    const auto in = to_fp8(rows, *scaling->state, Fp8Scaling::input);
    const auto w = to_fp8(weight, *scaling->state, Fp8Scaling::weight);
    context->save_for_backward({in.values, in.inverse, w.values, w.inverse});
    context->saved_data["scaling"] = c10::IValue::make_capsule(scaling);
    context->saved_data["shape"] = x.sizes();
    // Sums of the forward pass may be kept in fewer bits; those of gradients may not.
    const auto out = product(in.values, w.values.t(), in.inverse, w.inverse, x.scalar_type(), /*fast=*/true);
    auto shape = x.sizes().vec();
    shape.back() = weight.size(0);
    return out.view(shape);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto scaling = c10::static_intrusive_pointer_cast<Scaling>(context->saved_data["scaling"].toCapsule());
    const auto rows = gradients[0].reshape({-1, gradients[0].size(-1)});
    const auto out = to_fp8(rows, *scaling->state, Fp8Scaling::gradient);
    const auto type = gradients[0].scalar_type();
    auto grad_x = product(out.values, column_major(saved[2]), out.inverse, saved[3], type, false);
    auto grad_w = product(out.values.t().contiguous(), column_major(saved[0]), out.inverse, saved[1], type, false);
    return {grad_x.view(context->saved_data["shape"].toIntVector()), std::move(grad_w), {}};
  }
};

}  // namespace

Fp8Scaling::Fp8Scaling(Recipe recipe, torch::Device device) : recipe_(recipe) {
  if (recipe == Recipe::delayed) history_ = torch::zeros({3, history_length}, torch::TensorOptions().device(device));
}

torch::Tensor Fp8Scaling::factor(Tensor which, const torch::Tensor& values, double largest) {
  const torch::NoGradGuard no_grad;
  const auto now = at::linalg_vector_norm(values, INFINITY, {}, false, torch::kFloat32);
  auto magnitude = now;
  if (recipe_ == Recipe::delayed) {
    auto history = history_.select(0, which);
    // Of nothing but this use before there was another.
    magnitude = at::where(history.amax() > 0, history.amax(), now);
    history.slice(0, 0, history_length - 1).copy_(history.slice(0, 1, history_length).clone());
    history.select(0, history_length - 1).copy_(now);
  }
  return at::where(magnitude > 0, largest / magnitude, at::ones_like(magnitude));
}

void Fp8Scaling::restart() {
  if (history_.defined()) history_.zero_();
}

torch::Tensor fp8_linear(const torch::Tensor& x, const torch::Tensor& weight,
                         const std::shared_ptr<Fp8Scaling>& scaling) {
  auto holder = c10::make_intrusive<Scaling>();
  holder->state = scaling;
  return Fp8Linear::apply(x, weight, holder);
}

}  // namespace stepgauge::workloads
