#pragma once
// Layers that allocate their parameters where and as `options` says (the meta device included), never on the
// CPU first. Parameter names are those of torch.nn. Every initialisation draws from the generator it is
// given; on the meta device nothing is drawn. torch::nn's own layers are not used: they always build fp32 on
// the CPU from the global generator.
#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "workloads/fp8.hpp"

namespace stepgauge::workloads {

/// Where, in which type and from which generator parameters are made.
struct ParameterFactory {
  torch::TensorOptions options;  ///< device and dtype of the parameters
  torch::Generator generator;    ///< of that device; unused on meta

  torch::Tensor constant(at::IntArrayRef shape, double value) const;
  torch::Tensor normal(at::IntArrayRef shape, double stddev) const;  ///< mean 0
  torch::Tensor uniform(at::IntArrayRef shape, double bound) const;  ///< U(-bound, bound)
};

/// y = x W^T (+ b); weight [out, in], bias [out].
class Linear : public torch::nn::Module {
 public:
  /// No bias, weight ~ N(0, stddev), as transformers initialises its decoders.
  static std::shared_ptr<Linear> normal(int64_t in, int64_t out, double stddev, const ParameterFactory& make);
  /// With bias, both ~ U(-1/sqrt(in), 1/sqrt(in)): the default of torch.nn.Linear.
  static std::shared_ptr<Linear> torch_default(int64_t in, int64_t out, const ParameterFactory& make);

  Linear(torch::Tensor weight, torch::Tensor bias);
  torch::Tensor forward(const torch::Tensor& x) const;

  /// Products in fp8 from now on. For layers without bias.
  void use_fp8(std::shared_ptr<Fp8Scaling> scaling) { fp8_ = std::move(scaling); }
  const std::shared_ptr<Fp8Scaling>& fp8() const { return fp8_; }
  const torch::Tensor& weight() const { return weight_; }

 private:
  torch::Tensor weight_, bias_;
  std::shared_ptr<Fp8Scaling> fp8_;
};

/// Square convolution without bias; weight [out, in, kernel, kernel] ~ N(0, 2 / (kernel^2 out)), that is
/// torchvision's kaiming_normal_(mode="fan_out", nonlinearity="relu"). Padding is (kernel - 1) / 2.
class Conv2d : public torch::nn::Module {
 public:
  Conv2d(int64_t in, int64_t out, int64_t kernel, int64_t stride, const ParameterFactory& make);
  torch::Tensor forward(const torch::Tensor& x) const;

 private:
  torch::Tensor weight_;
  int64_t stride_, padding_;
};

/// Batch normalisation over [batch, channels, h, w], momentum 0.1, eps 1e-5. weight (1), bias (0),
/// running_mean and running_var are fp32 for half-precision models too (double stays double): Torch's kernels
/// take a half-precision input with fp32 parameters, or everything in one type, and the statistics must be
/// fp32. So an optimizer sees two dtypes in a pure bf16 ResNet, where Python's model.to(bfloat16) would round
/// the statistics as well. In training mode the caller adds 1 to num_batches_tracked() (int64 scalar), so
/// that one call serves every layer.
class BatchNorm2d : public torch::nn::Module {
 public:
  BatchNorm2d(int64_t channels, const ParameterFactory& make);
  torch::Tensor forward(const torch::Tensor& x) const;
  const torch::Tensor& num_batches_tracked() const { return num_batches_tracked_; }

 private:
  torch::Tensor weight_, bias_, running_mean_, running_var_, num_batches_tracked_;
};

/// Rows of weight [count, dim] ~ N(0, stddev) by int64 index.
class Embedding : public torch::nn::Module {
 public:
  Embedding(int64_t count, int64_t dim, double stddev, const ParameterFactory& make);
  torch::Tensor forward(const torch::Tensor& index) const;

 private:
  torch::Tensor weight_;
};

/// x / sqrt(mean(x^2) + eps) * weight over the last dimension (Zhang and Sennrich 2019), weight [dim] = 1.
/// at::rms_norm: one fused kernel on CUDA each way, plain operations on the CPU; fp32 inside. Under autocast
/// the result is cast once to the autocast type, where torch.nn would let each following linear layer cast it
/// again.
class RMSNorm : public torch::nn::Module {
 public:
  RMSNorm(int64_t dim, double eps, const ParameterFactory& make);
  torch::Tensor forward(const torch::Tensor& x) const;

 private:
  torch::Tensor weight_;
  double eps_;
};

}  // namespace stepgauge::workloads
