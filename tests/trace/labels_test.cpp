// Names that a person can tell apart in a table.
#include "trace/labels.hpp"

#include <gtest/gtest.h>

namespace stepgauge::trace {
namespace {

std::string kernel(const char* name) {
  return short_name(ActivityKind::kernel, name);
}

TEST(ShortName, KeepsWhatTellsKernelsApart) {
  EXPECT_EQ(
      kernel("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, "
             "3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"),
      "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array<char*..>>");
  EXPECT_EQ(kernel("void at::native::elementwise_kernel<128, 2, "
                   "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{"
                   "lambda()#3}"
                   "::operator()() const::{lambda(float)#1}>(at::TensorIteratorBase&)::{lambda(int)#1}>(int)"),
            "elementwise_kernel<128, 2, gpu_kernel_impl_nocast<direct_copy_kernel_cuda..>>");
  EXPECT_EQ(kernel("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
                   "namespace)::TensorListMetadata<2>, std::plus<float>, float>(float)"),
            "multi_tensor_apply_kernel<TensorListMetadata<2>, plus<float>, float>");
  EXPECT_EQ(kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  EXPECT_EQ(kernel("sm90_xmma_gemm_bf16bf16_bf16f32_tn_n"), "sm90_xmma_gemm_bf16bf16_bf16f32_tn_n");
}

TEST(ShortName, LeavesOtherNamesAlone) {
  EXPECT_EQ(short_name(ActivityKind::host_op, "aten::linear"), "aten::linear");
  EXPECT_EQ(short_name(ActivityKind::memcpy, "Memcpy HtoD (Pageable -> Device)"), "Memcpy HtoD (Pageable -> Device)");
}

TEST(ShortName, OfWhatIsNoNameIsNeverEmpty) {
  for (const char* name : {"(((", "<<<", ">>>", "a<b", "::", "void ", "{}", "x::", "a<(b", "a<b::c(d", ">", "()"}) {
    EXPECT_FALSE(kernel(name).empty()) << name;
  }
}

TEST(Words, OfEveryKindAndClass) {
  EXPECT_EQ(to_string(ActivityKind::collective), "collective");
  EXPECT_EQ(to_string(ActivityKind::host_op), "operator");
  EXPECT_EQ(to_string(ActivityClass::copy), "copy");
}

}  // namespace
}  // namespace stepgauge::trace
