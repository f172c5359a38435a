#pragma once
// ResNet for image classification (He et al. 2015) in torchvision's v1.5 layout: a bottleneck strides in its
// 3x3 convolution.
#include "workloads/workload.hpp"

namespace stepgauge::workloads {

struct ResNetSizes {
  int64_t depth = 50;      ///< 18, 34 (basic blocks), 50, 101, 152 (bottlenecks)
  int64_t width = 64;      ///< channels of the stem and the first stage
  int64_t classes = 1000;  ///< outputs of fc
  int64_t image = 224;     ///< side of the square input in pixels, at least 8
};

/// Parameters and buffers are named as in torchvision.models.resnet*. For half-precision models see
/// BatchNorm2d. FLOPs: 2 multiply-adds of every convolution and of fc for the forward pass, times 3 for a
/// training step. The field's convention; it counts the first convolution's input gradient, which is never
/// computed (1 % of ResNet-50). Throws std::invalid_argument where a size is missing or has no network.
std::unique_ptr<Workload> make_resnet(const nlohmann::json& sizes);

}  // namespace stepgauge::workloads
