#pragma once
// Matrix products in fp8 (Micikevicius et al. 2022): e4m3 for activations and weights, e5m2 for gradients, one scale a
// tensor, sums in fp32 or better, results in the type of the input.
#include <torch/torch.h>

#include <memory>

namespace stepgauge::workloads {

/// How the scales of one linear layer are found.
class Fp8Scaling {
 public:
  enum class Recipe {
    dynamic,  ///< from the tensor at hand: exact, at the price of a pass over it before the cast
    delayed,  ///< from the largest magnitudes of the last `history_length` uses, so that the cast need not wait
  };
  enum Tensor { input = 0, weight = 1, gradient = 2 };
  static constexpr int64_t history_length = 16;

  Fp8Scaling(Recipe recipe, torch::Device device);

  /// The factor, fp32 scalar on the device, that brings `values` into the range of a type whose largest number is
  /// `largest`; keeps their largest magnitude for later uses.
  torch::Tensor factor(Tensor which, const torch::Tensor& values, double largest);

  void restart();  ///< forgets the history, in place

 private:
  Recipe recipe_;
  torch::Tensor history_;  ///< [3, history_length]; undefined for dynamic
};

/// x W^T: x [..., in], weight [out, in], both bf16; in, out and the number of rows of x must be multiples of 16.
/// The weight's gradient is computed in fp8 too.
torch::Tensor fp8_linear(const torch::Tensor& x, const torch::Tensor& weight,
                         const std::shared_ptr<Fp8Scaling>& scaling);

}  // namespace stepgauge::workloads
