#pragma once
// The three places where a decoder written with plain operations moves more memory than its mathematics asks
// for. Each is a custom autograd function of few elementwise kernels: no host synchronisation, any floating
// dtype, any device, differentiable once.
#include <torch/torch.h>

namespace stepgauge::workloads::llama {

/// Cosines and sines of the rotary embedding for positions 0 .. sequence - 1.
struct RotaryTable {
  torch::Tensor cos;  ///< [sequence, 1, head_dim]: both halves, so that x * cos is one kernel
  torch::Tensor sin;  ///< [sequence, 1, head_dim / 2]
};

/// Angles position * theta^(-2i / head_dim) (Su et al. 2021), computed in fp32 on `device` (fp64 for fp64),
/// then cast.
RotaryTable rotary_table(int64_t sequence, int64_t head_dim, double theta, torch::Device device, torch::Dtype dtype);

/// Rotates x [batch, sequence, heads, head_dim] by its positions; element i pairs with i + head_dim / 2, the
/// convention of transformers' checkpoints. Three kernels each way (backward is the rotation by the negative
/// angle), nothing of x is saved. The table must have x's dtype.
torch::Tensor rotate(const torch::Tensor& x, const RotaryTable& table);

/// silu(gate) * up. Saves gate and up alone: silu(gate) is computed again in backward.
torch::Tensor swiglu(const torch::Tensor& gate, const torch::Tensor& up);

/// Mean of -log softmax(logits)[target] over rows; logits [rows, classes], target [rows] int64 without
/// ignored rows. Log-probabilities and loss are fp32 for half-precision logits (bf16 ones would round each by
/// up to 0.03 and the loss to three digits); the gradient has the logits' dtype and is made in three kernels,
/// with no fp32 copy of it.
torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& target);

/// Causal attention with 1/sqrt(head_dim) scale. query [batch, sequence, heads, head_dim], key and value with
/// kv_heads that divide heads; returns [batch, sequence, heads * head_dim]. Transposed views go in, no head
/// is copied where the flash kernel takes grouped heads itself (half precision on CUDA); elsewhere keys and
/// values are expanded.
torch::Tensor causal_attention(const torch::Tensor& query, torch::Tensor key, torch::Tensor value);

}  // namespace stepgauge::workloads::llama
