#include "worker/precision/precision.hpp"

#include <ATen/Context.h>

#include <cstdlib>

#include "contract/cell.hpp"
#include "worker/device.hpp"

namespace stepgauge::worker {

PrecisionPolicy make_precision_policy(const std::string& name, torch::Device device) {
  PrecisionPolicy policy;
  policy.name = name;
  if (name == "fp32") return policy;
  if (name == "tf32") {
    if (!device.is_cuda())
      throw UnsupportedCell("tf32 needs a CUDA device; on a CPU it would be fp32 under another name");
    policy.tf32 = true;
  } else if (name == "bf16") {
    policy.autocast = torch::kBFloat16;
  } else if (name == "bf16_pure") {
    policy.parameters = policy.input = torch::kBFloat16;
  } else if (is_fp8(name)) {
    policy.parameters = policy.input = torch::kBFloat16;
    policy.fp8 = true;
    policy.fp8_delayed = name == "fp8_delayed";
  } else if (name == "fp64") {
    policy.parameters = policy.input = torch::kFloat64;
  } else if (name == "fp16") {
    policy.autocast = torch::kHalf;
    policy.loss_scaling = true;
  } else {
    throw UnsupportedCell("this worker does not know precision \"" + name + "\"");
  }
  return policy;
}

void apply_switches(const PrecisionPolicy& policy, torch::Device device) {
  if (!device.is_cuda()) return;
  const char* nvidia = std::getenv("NVIDIA_TF32_OVERRIDE");
  if (nvidia != nullptr && policy.tf32 && std::string(nvidia) == "0") {
    throw UnsupportedCell("NVIDIA_TF32_OVERRIDE=0 in the environment turns TF32 off; unset it for this cell");
  }
  auto& context = at::globalContext();
  context.setAllowTF32CuBLAS(policy.tf32);
  context.setAllowTF32CuDNN(policy.tf32);
  context.setBenchmarkCuDNN(true);
}

Json read_switches(torch::Device device) {
  auto& context = at::globalContext();
  if (!device.is_cuda()) return {{"deterministic", context.deterministicAlgorithms()}};
  return {{"matmul_tf32", context.allowTF32CuBLAS()},
          {"convolution_tf32", context.allowTF32CuDNN()},
          {"cudnn_benchmark", context.benchmarkCuDNN()},
          {"bf16_reduced_precision_reduction",
           context.allowBF16ReductionCuBLAS() == at::CuBLASReductionOption::AllowReducedPrecisionWithSplitK},
          {"flash_attention", context.userEnabledFlashSDP()},
          {"deterministic", context.deterministicAlgorithms()}};
}

LossScaler::LossScaler(torch::Device device) {
  const auto options = torch::TensorOptions().device(device).dtype(torch::kFloat32);
  // Scalars, as in Python: the optimizer subtracts found_inf from its scalar step counts.
  scale_ = torch::full({}, initial_loss_scale, options);
  growth_ = torch::zeros({}, options.dtype(torch::kInt32));
  found_inf_ = torch::zeros({}, options);
  one_ = torch::ones({}, options);
}

void LossScaler::inspect(std::vector<torch::Tensor>& gradients) {
  found_inf_.zero_();
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf_, one_);
}

void LossScaler::restart() {
  scale_.fill_(restart_loss_scale);
  growth_.zero_();
}

void LossScaler::update() {
  at::_amp_update_scale_(scale_, growth_, found_inf_, 2.0, 0.5, 2000);
}

}  // namespace stepgauge::worker
