#pragma once
// Llama decoder (Touvron et al. 2023): RMSNorm (eps 1e-5), RoPE (theta 10,000), grouped-query attention,
// SwiGLU, untied head.
#include "workloads/workload.hpp"

namespace stepgauge::workloads {

struct LlamaSizes {
  int64_t layers = 2;
  int64_t hidden = 64;
  int64_t heads = 4;      ///< divides hidden; hidden / heads is even
  int64_t kv_heads = 2;   ///< divides heads
  int64_t ffn = 176;      ///< width of the SwiGLU layer
  int64_t vocab = 256;    ///< token ids
  int64_t sequence = 64;  ///< tokens a sample
};

/// Parameters are named and initialised (N(0, 0.02), norms 1) as in transformers.LlamaForCausalLM.
/// FLOPs of a training step: (6 N + 12 layers hidden sequence) tokens, PaLM's appendix B (Chowdhery et al.
/// 2022), where N counts the parameters of matrix products (head yes, embedding table and norms no) and
/// attention is counted whole, without halving it for causality. Throws std::invalid_argument where a size is
/// missing or the sizes don't fit together.
std::unique_ptr<Workload> make_llama(const nlohmann::json& sizes);

}  // namespace stepgauge::workloads
