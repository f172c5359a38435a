#pragma once
// e4m3 on the wire: 8 bits with one scale for many elements.
#include <torch/torch.h>

namespace stepgauge::worker {

inline constexpr double e4m3_largest = 448;

/// The scale [] (fp32) that maps `largest` [] to e4m3's largest value; 1 where `largest` is 0. Stays a tensor: the host
/// never learns it.
torch::Tensor e4m3_scale(const torch::Tensor& largest);
/// values / scale, rounded to e4m3.
torch::Tensor to_e4m3(const torch::Tensor& values, const torch::Tensor& scale);
/// The largest magnitude [] in fp32.
torch::Tensor largest_magnitude(const torch::Tensor& values);

}  // namespace stepgauge::worker
