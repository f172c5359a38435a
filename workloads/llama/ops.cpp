#include "workloads/llama/ops.hpp"

#include <ATen/OpMathType.h>

#include <utility>

namespace stepgauge::workloads::llama {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// direction 1: out = [a cos - b sin, b cos + a sin] for the halves a, b of x; -1: the inverse.
torch::Tensor rotate_by(const torch::Tensor& x, const RotaryTable& table, double direction) {
  const int64_t half = x.size(-1) / 2;
  auto out = at::mul(x, table.cos);
  out.narrow(-1, 0, half).addcmul_(x.narrow(-1, half, half), table.sin, -direction);
  out.narrow(-1, half, half).addcmul_(x.narrow(-1, 0, half), table.sin, direction);
  return out;
}

struct Rotate : torch::autograd::Function<Rotate> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, const torch::Tensor& cos,
                               const torch::Tensor& sin) {
    ctx->save_for_backward({cos, sin});
    return rotate_by(x, {cos, sin}, 1.0);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    return {rotate_by(grads[0], {saved[0], saved[1]}, -1.0), {}, {}};
  }
};

struct SwiGlu : torch::autograd::Function<SwiGlu> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& gate, const torch::Tensor& up) {
    ctx->save_for_backward({gate, up});
    return at::silu(gate).mul_(up);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto &gate = saved[0], &up = saved[1], &grad = grads[0];
    auto grad_up = at::silu(gate).mul_(grad);
    auto grad_gate = at::mul(grad, up);
    at::silu_backward_out(grad_gate, grad_gate, gate);
    return {std::move(grad_gate), std::move(grad_up)};
  }
};

struct CrossEntropy : torch::autograd::Function<CrossEntropy> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& logits, const torch::Tensor& target) {
    const auto log_probs = at::_log_softmax(logits.to(at::toOpMathType(logits.scalar_type())), 1, false);
    const auto rows = target.unsqueeze(1);
    ctx->save_for_backward({log_probs, rows});
    ctx->saved_data["dtype"] = logits.scalar_type();
    return log_probs.gather(1, rows).mean().neg_();
  }

  /// (softmax - onehot(target)) * grad / rows. The target's own entry is computed apart in fp32: in bf16 its
  /// subtraction from 1 would cancel.
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto &log_probs = saved[0], &rows = saved[1];
    const auto scale = grads[0] / static_cast<double>(log_probs.size(0));
    auto grad = at::empty_like(log_probs, log_probs.options().dtype(ctx->saved_data["dtype"].toScalarType()));
    at::exp_out(grad, log_probs);
    grad.mul_(scale);
    const auto at_target = log_probs.gather(1, rows).exp_().sub_(1.0).mul_(scale);
    grad.scatter_(1, rows, at_target.to(grad.scalar_type()));
    return {std::move(grad), {}};
  }
};

/// [batch, kv_heads, sequence, head_dim] -> [batch, heads, sequence, head_dim], each head repeated in place.
torch::Tensor expand_heads(const torch::Tensor& x, int64_t heads) {
  const int64_t groups = heads / x.size(1);
  if (groups == 1) return x;
  return x.unsqueeze(2).expand({-1, -1, groups, -1, -1}).flatten(1, 2);
}

}  // namespace

RotaryTable rotary_table(int64_t sequence, int64_t head_dim, double theta, torch::Device device, torch::Dtype dtype) {
  torch::NoGradGuard no_grad;
  const auto options = torch::TensorOptions().device(device).dtype(at::toOpMathType(dtype));
  const auto exponents = at::arange(0, head_dim, 2, options) / static_cast<double>(head_dim);
  const auto frequencies = at::reciprocal(at::pow(theta, exponents));
  const auto angles = at::arange(sequence, options).view({-1, 1, 1}) * frequencies;
  return {at::cat({angles, angles}, -1).cos_().to(dtype), angles.sin().to(dtype)};
}

torch::Tensor rotate(const torch::Tensor& x, const RotaryTable& table) {
  return Rotate::apply(x, table.cos, table.sin);
}

torch::Tensor swiglu(const torch::Tensor& gate, const torch::Tensor& up) {
  return SwiGlu::apply(gate, up);
}

torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& target) {
  return CrossEntropy::apply(logits, target);
}

torch::Tensor causal_attention(const torch::Tensor& query, torch::Tensor key, torch::Tensor value) {
  const int64_t heads = query.size(2);
  const bool grouped = key.size(2) != heads;
  const bool flash = query.is_cuda() && (query.scalar_type() == at::kBFloat16 || query.scalar_type() == at::kHalf);
  key = key.transpose(1, 2);
  value = value.transpose(1, 2);
  if (grouped && !flash) {
    key = expand_heads(key, heads);
    value = expand_heads(value, heads);
  }
  const auto out =
      at::scaled_dot_product_attention(query.transpose(1, 2), key, value, /*attn_mask=*/{}, /*dropout_p=*/0.0,
                                       /*is_causal=*/true, /*scale=*/std::nullopt, /*enable_gqa=*/grouped && flash);
  return out.transpose(1, 2).flatten(2);
}

}  // namespace stepgauge::workloads::llama
