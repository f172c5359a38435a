#pragma once
// Precision of a cell: types, library switches, autocast and loss scaling. Every switch is set by the cell
// and read back after the run.
#include <torch/torch.h>

#include <optional>
#include <string>
#include <vector>

#include "contract/json_io.hpp"
#include "workloads/autocast.hpp"

namespace stepgauge::worker {

inline constexpr double initial_loss_scale = 65536;  ///< as torch.amp.GradScaler
/// After a restart: low enough that the first step is not skipped for an overflow, as steps at the initial scale may
/// be.
inline constexpr double restart_loss_scale = 1024;

struct PrecisionPolicy {
  std::string name;
  torch::Dtype parameters = torch::kFloat32;  ///< type of weights, gradients and optimizer state
  torch::Dtype input = torch::kFloat32;       ///< type of floating inputs
  std::optional<torch::Dtype> autocast;       ///< type of autocast regions
  bool loss_scaling = false;
  bool tf32 = false;
  bool fp8 = false, fp8_delayed = false;
};

/// fp32, tf32, bf16 (autocast), bf16_pure, fp16 (autocast + loss scaling), fp8 and fp8_delayed (bf16_pure with matrix
/// products in fp8); fp64 for references. Throws UnsupportedCell: tf32 on CPU.
PrecisionPolicy make_precision_policy(const std::string& name, torch::Device device);

/// Sets matmul and convolution TF32 and cuDNN's autotuner. Throws UnsupportedCell for an override in the
/// environment that would defeat it (NVIDIA_TF32_OVERRIDE, TORCH_ALLOW_TF32_CUBLAS_OVERRIDE).
void apply_switches(const PrecisionPolicy& policy, torch::Device device);

/// The switches as the libraries report them now.
Json read_switches(torch::Device device);

/// Dynamic loss scaling as torch.amp.GradScaler does it for fused optimizers, without a host synchronisation.
class LossScaler {
 public:
  explicit LossScaler(torch::Device device);
  torch::Tensor scale(const torch::Tensor& loss) const { return loss * scale_; }
  /// Looks for infinities in the scaled gradients; the fused optimizer then unscales, or skips the step.
  void inspect(std::vector<torch::Tensor>& gradients);
  void update();
  void restart();  ///< as before the first step but at `restart_loss_scale`, in place
  const torch::Tensor& factor() const { return scale_; }
  const torch::Tensor& found_inf() const { return found_inf_; }

 private:
  torch::Tensor scale_, growth_, found_inf_, one_;
};

}  // namespace stepgauge::worker
