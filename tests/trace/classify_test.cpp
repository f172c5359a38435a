// A kernel in the wrong class moves time between computation and communication (case C26).
#include "trace/classify.hpp"

#include <gtest/gtest.h>

#include "timelines.hpp"

namespace stepgauge::trace {
namespace {

constexpr auto compute = ActivityClass::compute;
constexpr auto communication = ActivityClass::communication;
constexpr auto copy = ActivityClass::copy;

void expect_all(ActivityKind kind, ActivityClass type, std::initializer_list<std::string_view> names) {
  for (const auto name : names) EXPECT_EQ(classify(kind, name), type) << name;
}

TEST(Classify, EverySpellingOfNcclIsCommunication) {
  expect_all(
      ActivityKind::kernel, communication,
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
       "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
       "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "nccldevkernel_allreduce_sum_f32_ring_ll",
       "NCCLDEVKERNEL_ALLGATHER", "ncclAllReduceRingLLKernel_sum_f32(ncclColl)",
       "ncclSymkDevKernel_AllReduce_AGxLL_R_sum_bf16(ncclSymkDevWorkArgs4K)", "ncclSymDevKernel_AllGather_LL",
       "void ncclKernel_Broadcast<1, false>(ncclArgs)", "_Z23ncclDevKernel_Generic_124ncclDevKernelArgsStorage"});
}

TEST(Classify, OtherLibrariesAndPyTorchsOwnKernelsAreCommunication) {
  expect_all(
      ActivityKind::kernel, communication,
      {"rccl_main_kernel", "mscclKernel_Sum_float_Simple", "nvshmemi_proxy_quiet",
       "void barrier_on_stream_kernel_threadgroup<2>()",
       "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)",
       "void <unnamed>::multimem_one_shot_reduce_kernel<float, 16>(float*, float*)",
       "void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<float, 16, 8>(float**, unsigned long)",
       "one_shot_all_reduce_kernel", "c10d::symmetric_memory::barrier_kernel(unsigned int**, int, int, int)",
       "put_signal_kernel(unsigned int**, int, int)",
       "void c10d::intra_node_comm::oneShotAllReduceKernel<8u, true>(int)",
       "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals)",
       "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1>(int)",
       "void deep_ep::internode::dispatch<true, 8>(int)", "allToAllV(void*, void*, long*, int)"});
}

TEST(Classify, ComputationIsNotTakenForCommunication) {
  expect_all(ActivityKind::kernel, compute,
             {"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float>>(int)",
              "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "ampere_sgemm_128x64_nn",
              "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(int)",
              "void at::native::index_put_with_sort_kernel<at::native::OpaqueType<4>>(long*)",
              "void cutlass::Kernel<syncClusters>(int)", "asyncClear(int*)", "syncClear",
              "void scatter_gather_elementwise_kernel<128, 8>(int)", "void blockAllReduceSum<float>(float*)",
              "void softmax<WarpAllReduce>(float*)", "void layer_norm<ncclFloat, my_all_reduce>(ncclDevComm*)",
              "triton_poi_fused_add_all_reduce_wait_tensor_0", "triton_red_fused_native_layer_norm_3",
              "void foo<decltype(x->y)::all_reduce>(int)", "c10d::checkForNaN(float*)", "", "kernel with < no end"});
}

TEST(Classify, CopiesAndMemsetsAreAClassOfTheirOwnWhateverTheirName) {
  expect_all(ActivityKind::memcpy, copy, {"Memcpy HtoD (Pageable -> Device)", "Memcpy PtoP", "nccl", ""});
  expect_all(ActivityKind::memset, copy, {"Memset (Device)", ""});
  expect_all(ActivityKind::kernel, compute, {"void at::native::direct_copy_kernel_cuda(int)", "Memcpy"});
}

TEST(Classify, OperatorsOfTheHost) {
  expect_all(ActivityKind::host_op, copy,
             {"aten::copy_", "aten::_to_copy", "aten::to", "aten::clone", "aten::contiguous", "ToCopyBackward0",
              "autograd::engine::evaluate_function: ToCopyBackward0"});
  expect_all(ActivityKind::host_op, communication,
             {"gloo:all_reduce", "nccl:broadcast", "c10d::allreduce_", "c10d::_allgather_base_", "record_param_comms",
              "_c10d_functional::wait_tensor"});
  expect_all(ActivityKind::host_op, compute,
             {"aten::addmm", "aten::convolution", "aten::copysign", "aten::to_sparse", "glooey", "mpi::x", "aten::sum",
              "autograd::engine::evaluate_function: AddmmBackward0", ""});
  expect_all(ActivityKind::collective, communication, {"all_reduce", "broadcast", "anything"});
}

TEST(Classify, ATimelineIsClassifiedByNameAndKind) {
  RankTimeline timeline;
  for (const auto kind : {ActivityKind::kernel, ActivityKind::memcpy, ActivityKind::host_op, ActivityKind::kernel}) {
    test::add(timeline, {0, 1}, "ncclDevKernel_AllGather", 7, kind);
    test::add(timeline, {0, 1}, "gemm", 7, kind);
    test::add(timeline, {0, 1}, "aten::copy_", 7, kind);
  }
  auto unclassified = timeline;
  for (auto& activity : unclassified.activities) activity.type = ActivityClass::copy;
  classify(unclassified);
  for (std::size_t i = 0; i < timeline.activities.size(); ++i)
    EXPECT_EQ(unclassified.activities[i].type, timeline.activities[i].type) << i;
}

}  // namespace
}  // namespace stepgauge::trace
