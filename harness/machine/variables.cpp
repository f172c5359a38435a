#include "machine/variables.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace stepgauge::machine {
namespace {

constexpr std::array<std::string_view, 11> plain_names{
    "PATH",        "HOME",          "USER", "LANG", "LC_ALL", "TMPDIR", "TZ", "PYTHONPATH", "LD_LIBRARY_PATH",
    "VIRTUAL_ENV", "XDG_CACHE_HOME"};

constexpr std::array<std::string_view, 18> prefixes{"NCCL_",   "NVSHMEM_", "TORCH_",   "TORCHINDUCTOR_", "TORCHDYNAMO_",
                                                    "TRITON_", "PYTORCH_", "CUDA_",    "CUBLAS_",        "CUBLASLT_",
                                                    "CUDNN_",  "NVIDIA_",  "GLOO_",    "OMP_",           "MKL_",
                                                    "KMP_",    "MALLOC_",  "OPENBLAS_"};

}  // namespace

bool is_recorded_variable(std::string_view name) {
  return name == "HF_HUB_OFFLINE" ||
         std::any_of(prefixes.begin(), prefixes.end(), [&](auto prefix) { return name.starts_with(prefix); });
}

bool is_passed_variable(std::string_view name) {
  return is_recorded_variable(name) || std::find(plain_names.begin(), plain_names.end(), name) != plain_names.end();
}

Variables all_variables() {
  Variables out;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

Variables recorded_variables() {
  auto out = all_variables();
  std::erase_if(out, [](const auto& item) { return !is_recorded_variable(item.first); });
  return out;
}

}  // namespace stepgauge::machine
