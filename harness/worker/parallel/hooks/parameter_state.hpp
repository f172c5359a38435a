#pragma once
// State of a hook by parameter, not by bucket: buckets are rebuilt after the first step and their numbers then mean
// other gradients.
#include <torch/torch.h>

#include <unordered_map>
#include <vector>

namespace stepgauge::worker {

/// The place of each parameter in the Reducer's list, which is the same on every rank.
class ParameterIndex {
 public:
  explicit ParameterIndex(const std::vector<torch::Tensor>& parameters);
  /// Throws std::runtime_error for a tensor that is none of them.
  std::size_t of(const torch::Tensor& parameter) const;

 private:
  std::unordered_map<const c10::TensorImpl*, std::size_t> index_;
};

/// What compression left out of each parameter's gradient, in the gradient's type and the parameter's layout.
class Residuals {
 public:
  /// Zeros. `wanted`: false keeps nothing, and add_to() and keep() do nothing.
  Residuals(const std::vector<torch::Tensor>& parameters, bool wanted);
  /// Adds the residuals of a bucket's parameters to its flat tensor.
  void add_to(const torch::Tensor& flat, const std::vector<torch::Tensor>& parameters) const;
  /// `left` is a flat tensor of the bucket with what was not sent.
  void keep(const torch::Tensor& left, const std::vector<torch::Tensor>& parameters) const;
  bool wanted() const { return !kept_.empty(); }
  std::int64_t bytes() const;
  void restart();

 private:
  std::vector<torch::Tensor> of(const std::vector<torch::Tensor>& parameters) const;

  ParameterIndex index_;
  std::vector<torch::Tensor> kept_;
};

}  // namespace stepgauge::worker
