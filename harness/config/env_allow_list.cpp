#include "config/env_allow_list.hpp"

#include <algorithm>
#include <array>

namespace stepgauge::config {

std::string_view cell_variable_refusal(std::string_view name) {
  static constexpr std::array<std::string_view, 15> prefixes{
      "NCCL_", "TORCH_", "PYTORCH_", "CUDA_",   "CUBLAS_",        "CUBLASLT_",    "CUDNN_", "GLOO_",
      "OMP_",  "MKL_",   "KMP_",     "TRITON_", "TORCHINDUCTOR_", "TORCHDYNAMO_", "MALLOC_"};
  const auto word = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || (name[0] >= '0' && name[0] <= '9') || !std::all_of(name.begin(), name.end(), word))
    return "a name has letters, digits and _ only";
  if (name == "NVIDIA_TF32_OVERRIDE") return "";
  if (name == "CUDA_VISIBLE_DEVICES") return "devices are chosen with --devices";
  if (name.starts_with("STEPGAUGE_")) return "STEPGAUGE_* belongs to the contract between harness and worker";
  if (name.starts_with("LD_")) return "LD_* changes which code runs, in the rank and in every tool it starts";
  const auto fits = [name](std::string_view prefix) { return name.size() > prefix.size() && name.starts_with(prefix); };
  if (std::any_of(prefixes.begin(), prefixes.end(), fits)) return "";
  return "a cell may set NCCL_*, TORCH_*, PYTORCH_*, CUDA_*, CUBLAS_*, CUBLASLT_*, CUDNN_*, GLOO_*, OMP_*, MKL_*, "
         "KMP_*, "
         "TRITON_*, TORCHINDUCTOR_*, TORCHDYNAMO_*, MALLOC_* and NVIDIA_TF32_OVERRIDE";
}

bool cell_variable_allowed(std::string_view name) {
  return cell_variable_refusal(name).empty();
}

}  // namespace stepgauge::config
