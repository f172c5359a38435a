#include "workloads/layers.hpp"

#include <ATen/OpMathType.h>
#include <ATen/autocast_mode.h>

#include <cmath>

namespace stepgauge::workloads {

torch::Tensor ParameterFactory::constant(at::IntArrayRef shape, double value) const {
  return torch::full(shape, value, options);
}

torch::Tensor ParameterFactory::normal(at::IntArrayRef shape, double stddev) const {
  auto tensor = torch::empty(shape, options);
  if (!tensor.is_meta()) {
    torch::NoGradGuard no_grad;
    tensor.normal_(0.0, stddev, generator);
  }
  return tensor;
}

torch::Tensor ParameterFactory::uniform(at::IntArrayRef shape, double bound) const {
  auto tensor = torch::empty(shape, options);
  if (!tensor.is_meta()) {
    torch::NoGradGuard no_grad;
    tensor.uniform_(-bound, bound, generator);
  }
  return tensor;
}

std::shared_ptr<Linear> Linear::normal(int64_t in, int64_t out, double stddev, const ParameterFactory& make) {
  return std::make_shared<Linear>(make.normal({out, in}, stddev), torch::Tensor());
}

std::shared_ptr<Linear> Linear::torch_default(int64_t in, int64_t out, const ParameterFactory& make) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(in));
  auto weight = make.uniform({out, in}, bound);
  return std::make_shared<Linear>(std::move(weight), make.uniform({out}, bound));
}

Linear::Linear(torch::Tensor weight, torch::Tensor bias) {
  weight_ = register_parameter("weight", std::move(weight));
  if (bias.defined()) bias_ = register_parameter("bias", std::move(bias));
}

torch::Tensor Linear::forward(const torch::Tensor& x) const {
  return fp8_ ? fp8_linear(x, weight_, fp8_) : at::linear(x, weight_, bias_);
}

Conv2d::Conv2d(int64_t in, int64_t out, int64_t kernel, int64_t stride, const ParameterFactory& make)
    : stride_(stride), padding_((kernel - 1) / 2) {
  const double fan_out = static_cast<double>(kernel * kernel * out);
  weight_ = register_parameter("weight", make.normal({out, in, kernel, kernel}, std::sqrt(2.0 / fan_out)));
}

torch::Tensor Conv2d::forward(const torch::Tensor& x) const {
  return at::conv2d(x, weight_, {}, {stride_, stride_}, {padding_, padding_});
}

BatchNorm2d::BatchNorm2d(int64_t channels, const ParameterFactory& make) {
  const auto dtype = at::toOpMathType(c10::typeMetaToScalarType(make.options.dtype()));
  const auto options = make.options.dtype(dtype);
  weight_ = register_parameter("weight", torch::ones({channels}, options));
  bias_ = register_parameter("bias", torch::zeros({channels}, options));
  running_mean_ = register_buffer("running_mean", torch::zeros({channels}, options));
  running_var_ = register_buffer("running_var", torch::ones({channels}, options));
  num_batches_tracked_ = register_buffer("num_batches_tracked", torch::zeros({}, make.options.dtype(torch::kLong)));
}

torch::Tensor BatchNorm2d::forward(const torch::Tensor& x) const {
  constexpr double momentum = 0.1, eps = 1e-5;
  return at::batch_norm(x, weight_, bias_, running_mean_, running_var_, is_training(), momentum, eps,
                        at::globalContext().userEnabledCuDNN());
}

Embedding::Embedding(int64_t count, int64_t dim, double stddev, const ParameterFactory& make) {
  weight_ = register_parameter("weight", make.normal({count, dim}, stddev));
}

torch::Tensor Embedding::forward(const torch::Tensor& index) const {
  return at::embedding(weight_, index);
}

RMSNorm::RMSNorm(int64_t dim, double eps, const ParameterFactory& make) : eps_(eps) {
  weight_ = register_parameter("weight", make.constant({dim}, 1.0));
}

torch::Tensor RMSNorm::forward(const torch::Tensor& x) const {
  auto y = at::rms_norm(x, {x.size(-1)}, weight_, eps_);
  const auto device = x.device().type();
  if (at::autocast::is_autocast_available(device) && at::autocast::is_autocast_enabled(device)) {
    return y.to(at::autocast::get_autocast_dtype(device));
  }
  return y;
}

}  // namespace stepgauge::workloads
