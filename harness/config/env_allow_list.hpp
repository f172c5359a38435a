#pragma once
#include <string_view>

namespace stepgauge::config {

/// Whether a cell may set this environment variable: NCCL_*, TORCH_*, PYTORCH_*, CUDA_* (without
/// CUDA_VISIBLE_DEVICES), CUBLAS_*, CUBLASLT_*, CUDNN_*, GLOO_*, OMP_*, MKL_*, KMP_*, TRITON_*, TORCHINDUCTOR_*,
/// MALLOC_* and NVIDIA_TF32_OVERRIDE.
bool cell_variable_allowed(std::string_view name);

/// Why it may not, for an error; empty when it may.
std::string_view cell_variable_refusal(std::string_view name);

}  // namespace stepgauge::config
