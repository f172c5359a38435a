#include "config/env_allow_list.hpp"

#include <gtest/gtest.h>

namespace stepgauge::config {
namespace {

TEST(EnvAllowList, AllowsTheLibrariesOfTrainingAndNothingElse) {
  for (const auto* name :
       {"NCCL_DEBUG", "TORCH_CPP_LOG_LEVEL", "PYTORCH_CUDA_ALLOC_CONF", "CUDA_LAUNCH_BLOCKING",
        "CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_LOG_LEVEL", "CUDNN_LOGINFO_DBG", "GLOO_SOCKET_IFNAME", "OMP_NUM_THREADS",
        "MKL_NUM_THREADS", "KMP_AFFINITY", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCHDYNAMO_VERBOSE",
        "NVIDIA_TF32_OVERRIDE", "MALLOC_ARENA_MAX"})
    EXPECT_TRUE(cell_variable_allowed(name)) << name;
  for (const auto* name : {"", "PATH", "HOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "STEPGAUGE_CELL",
                           "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "NCCL", "NCCL_", "nccl_debug",
                           "XNCCL_DEBUG", "NCCL_A=B", "NCCL_A B", "PYTHONPATH", "RANK", "MASTER_ADDR", "1NCCL_A"})
    EXPECT_FALSE(cell_variable_allowed(name)) << name;
}

}  // namespace
}  // namespace stepgauge::config
