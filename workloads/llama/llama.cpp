#include "workloads/llama/llama.hpp"

#include <stdexcept>
#include <utility>

#include "workloads/layers.hpp"
#include "workloads/llama/ops.hpp"
#include "workloads/sizes.hpp"

namespace stepgauge::workloads {
namespace {

constexpr double kRopeTheta = 10000.0;
constexpr double kNormEps = 1e-5;
constexpr double kInitStddev = 0.02;

class Attention : public torch::nn::Module {
 public:
  Attention(const LlamaSizes& sizes, const ParameterFactory& make) : head_dim_(sizes.hidden / sizes.heads) {
    const int64_t kv = sizes.kv_heads * head_dim_;
    q_proj_ = register_module("q_proj", Linear::normal(sizes.hidden, sizes.hidden, kInitStddev, make));
    k_proj_ = register_module("k_proj", Linear::normal(sizes.hidden, kv, kInitStddev, make));
    v_proj_ = register_module("v_proj", Linear::normal(sizes.hidden, kv, kInitStddev, make));
    o_proj_ = register_module("o_proj", Linear::normal(sizes.hidden, sizes.hidden, kInitStddev, make));
  }

  torch::Tensor q(const torch::Tensor& x) const { return split_heads(q_proj_->forward(x)); }
  torch::Tensor k(const torch::Tensor& x) const { return split_heads(k_proj_->forward(x)); }
  torch::Tensor v(const torch::Tensor& x) const { return split_heads(v_proj_->forward(x)); }
  torch::Tensor o(const torch::Tensor& x) const { return o_proj_->forward(x); }

 private:
  torch::Tensor split_heads(const torch::Tensor& x) const { return x.unflatten(-1, {-1, head_dim_}); }

  int64_t head_dim_;
  std::shared_ptr<Linear> q_proj_, k_proj_, v_proj_, o_proj_;
};

class Mlp : public torch::nn::Module {
 public:
  Mlp(const LlamaSizes& sizes, const ParameterFactory& make) {
    gate_proj_ = register_module("gate_proj", Linear::normal(sizes.hidden, sizes.ffn, kInitStddev, make));
    up_proj_ = register_module("up_proj", Linear::normal(sizes.hidden, sizes.ffn, kInitStddev, make));
    down_proj_ = register_module("down_proj", Linear::normal(sizes.ffn, sizes.hidden, kInitStddev, make));
  }

  torch::Tensor forward(const torch::Tensor& x) const {
    return down_proj_->forward(llama::swiglu(gate_proj_->forward(x), up_proj_->forward(x)));
  }

 private:
  std::shared_ptr<Linear> gate_proj_, up_proj_, down_proj_;
};

/// The rotary tables of one model, one per device and dtype met. Plain tensors: they are no state of the
/// model.
class RotaryCache {
 public:
  RotaryCache(int64_t sequence, int64_t head_dim) : sequence_(sequence), head_dim_(head_dim) {}

  const llama::RotaryTable& table(torch::Device device, torch::Dtype dtype) {
    for (const auto& table : tables_) {
      if (table->cos.device() == device && table->cos.scalar_type() == dtype) return *table;
    }
    tables_.push_back(
        std::make_unique<llama::RotaryTable>(llama::rotary_table(sequence_, head_dim_, kRopeTheta, device, dtype)));
    return *tables_.back();
  }

 private:
  int64_t sequence_, head_dim_;
  std::vector<std::unique_ptr<llama::RotaryTable>> tables_;
};

class DecoderLayer : public torch::nn::Module {
 public:
  DecoderLayer(const LlamaSizes& sizes, const ParameterFactory& make, std::shared_ptr<RotaryCache> rotary)
      : rotary_(std::move(rotary)) {
    attention_ = register_module("self_attn", std::make_shared<Attention>(sizes, make));
    mlp_ = register_module("mlp", std::make_shared<Mlp>(sizes, make));
    input_norm_ = register_module("input_layernorm", std::make_shared<RMSNorm>(sizes.hidden, kNormEps, make));
    post_norm_ = register_module("post_attention_layernorm", std::make_shared<RMSNorm>(sizes.hidden, kNormEps, make));
  }

  torch::Tensor forward(const torch::Tensor& x) const {
    const auto attended = x + attend(input_norm_->forward(x));
    return attended + mlp_->forward(post_norm_->forward(attended));
  }

 private:
  torch::Tensor attend(const torch::Tensor& x) const {
    const auto query = attention_->q(x);
    const auto& table = rotary_->table(query.device(), query.scalar_type());
    return attention_->o(
        llama::causal_attention(llama::rotate(query, table), llama::rotate(attention_->k(x), table), attention_->v(x)));
  }

  std::shared_ptr<RotaryCache> rotary_;
  std::shared_ptr<Attention> attention_;
  std::shared_ptr<Mlp> mlp_;
  std::shared_ptr<RMSNorm> input_norm_, post_norm_;
};

/// Children "0", "1", ...
class DecoderLayers : public torch::nn::Module {
 public:
  DecoderLayers(const LlamaSizes& sizes, const ParameterFactory& make) {
    auto rotary = std::make_shared<RotaryCache>(sizes.sequence, sizes.hidden / sizes.heads);
    for (int64_t i = 0; i < sizes.layers; ++i) {
      layers_.push_back(register_module(std::to_string(i), std::make_shared<DecoderLayer>(sizes, make, rotary)));
    }
  }

  torch::Tensor forward(torch::Tensor x, Recomputation& recomputation) const {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto& layer = *layers_[i];
      x = recomputation.run(
          i, layer, [&layer](const torch::Tensor& input) { return layer.forward(input); }, x);
    }
    return x;
  }
  std::size_t size() const { return layers_.size(); }

 private:
  std::vector<std::shared_ptr<DecoderLayer>> layers_;
};

class Decoder : public torch::nn::Module {
 public:
  Decoder(const LlamaSizes& sizes, const ParameterFactory& make) {
    embed_ = register_module("embed_tokens", std::make_shared<Embedding>(sizes.vocab, sizes.hidden, kInitStddev, make));
    layers_ = register_module("layers", std::make_shared<DecoderLayers>(sizes, make));
    norm_ = register_module("norm", std::make_shared<RMSNorm>(sizes.hidden, kNormEps, make));
  }

  torch::Tensor forward(const torch::Tensor& tokens, Recomputation& recomputation) const {
    return norm_->forward(layers_->forward(embed_->forward(tokens), recomputation));
  }
  std::size_t layers() const { return layers_->size(); }

 private:
  std::shared_ptr<Embedding> embed_;
  std::shared_ptr<DecoderLayers> layers_;
  std::shared_ptr<RMSNorm> norm_;
};

class Llama : public Model {
 public:
  Llama(const LlamaSizes& sizes, const ParameterFactory& make) {
    decoder_ = register_module("model", std::make_shared<Decoder>(sizes, make));
    lm_head_ = register_module("lm_head", Linear::normal(sizes.hidden, sizes.vocab, kInitStddev, make));
  }

  torch::Tensor loss(const Batch& batch) override {
    const auto logits = lm_head_->forward(decoder_->forward(batch.input, recomputation()));
    return llama::cross_entropy(logits.flatten(0, 1), batch.target.flatten());
  }
  std::size_t blocks() const override { return decoder_->layers(); }

 private:
  std::shared_ptr<Decoder> decoder_;
  std::shared_ptr<Linear> lm_head_;
};

/// Parameters that enter matrix products: the projections, the SwiGLU layers and the head.
double matmul_parameters(const LlamaSizes& sizes) {
  const double hidden = static_cast<double>(sizes.hidden);
  const double kv = static_cast<double>(sizes.hidden / sizes.heads * sizes.kv_heads);
  const double layer = 2.0 * hidden * hidden + 2.0 * hidden * kv + 3.0 * hidden * static_cast<double>(sizes.ffn);
  return static_cast<double>(sizes.layers) * layer + hidden * static_cast<double>(sizes.vocab);
}

class LlamaWorkload : public Workload {
 public:
  explicit LlamaWorkload(const LlamaSizes& sizes) : sizes_(sizes) {}

  std::shared_ptr<Model> build(const torch::TensorOptions& options, torch::Generator generator) const override {
    return std::make_shared<Llama>(sizes_, ParameterFactory{options, std::move(generator)});
  }

  /// Independent uniform tokens, drawn once; the target is the same row one token on.
  Batch make_batch(int64_t batch, torch::Device device, torch::Dtype /*dtype*/,
                   torch::Generator generator) const override {
    const auto options = torch::TensorOptions().device(device).dtype(torch::kLong);
    const auto tokens = at::randint(0, sizes_.vocab, {batch, sizes_.sequence + 1}, std::move(generator), options);
    return {tokens.narrow(1, 0, sizes_.sequence).contiguous(), tokens.narrow(1, 1, sizes_.sequence).contiguous()};
  }

  int64_t categories() const override { return sizes_.vocab; }

  ModelFlops flops(int64_t batch) const override {
    const double attention = 12.0 * static_cast<double>(sizes_.layers) * static_cast<double>(sizes_.hidden) *
                             static_cast<double>(sizes_.sequence);
    return {(6.0 * matmul_parameters(sizes_) + attention) * static_cast<double>(work_per_step(batch)),
            "(6 x matmul parameters + 12 x layers x hidden x sequence) x tokens; attention not halved for "
            "causality "
            "(PaLM, appendix B)"};
  }

  int64_t work_per_step(int64_t batch) const override { return batch * sizes_.sequence; }
  std::string work_unit() const override { return "tokens"; }

 private:
  LlamaSizes sizes_;
};

void check(const LlamaSizes& sizes) {
  const auto fail = [](const std::string& what) { throw std::invalid_argument("llama: " + what); };
  const auto text = [](int64_t value) { return std::to_string(value); };
  if (sizes.hidden % sizes.heads != 0) {
    fail("heads (" + text(sizes.heads) + ") do not divide hidden (" + text(sizes.hidden) + ")");
  }
  if (sizes.heads % sizes.kv_heads != 0) {
    fail("kv_heads (" + text(sizes.kv_heads) + ") do not divide heads (" + text(sizes.heads) + ")");
  }
  if (const int64_t head_dim = sizes.hidden / sizes.heads; head_dim % 2 != 0) {
    fail("hidden / heads is " + text(head_dim) + ": rotary embedding needs an even head size");
  }
}

}  // namespace

std::unique_ptr<Workload> make_llama(const nlohmann::json& json) {
  LlamaSizes sizes;
  sizes.layers = read_size("llama", json, "layers", 1);
  sizes.hidden = read_size("llama", json, "hidden", 1);
  sizes.heads = read_size("llama", json, "heads", 1);
  sizes.kv_heads = read_size("llama", json, "kv_heads", 1);
  sizes.ffn = read_size("llama", json, "ffn", 1);
  sizes.vocab = read_size("llama", json, "vocab", 2);
  sizes.sequence = read_size("llama", json, "sequence", 1);
  check(sizes);
  return std::make_unique<LlamaWorkload>(sizes);
}

}  // namespace stepgauge::workloads
