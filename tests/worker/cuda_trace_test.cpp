// The traced pass against programs whose timeline is known by construction: spinning kernels of a set length, gaps made
// by the host, a second stream, copies and real NCCL calls, each step launched eagerly or as one CUDA graph. Label gpu.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nccl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "trace/breakdown.hpp"
#include "trace/reader.hpp"
#include "worker/device.hpp"
#include "worker/trace/traced_pass.hpp"

namespace stepgauge::worker {
namespace {

constexpr std::size_t steps = 10;
constexpr double points = 1.0;  ///< allowed difference, percentage points

#define REQUIRE_CUDA(call) ASSERT_EQ(call, cudaSuccess)

void CUDART_CB sleep_on_host(void* milliseconds) {
  ::usleep(static_cast<useconds_t>(*static_cast<double*>(milliseconds) * 1e3));
}

/// Cycles of the spinning kernel for a millisecond, at the clock of now.
double cycles_per_ms(cudaStream_t stream) {
  cudaEvent_t begin = nullptr, end = nullptr;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  constexpr std::int64_t cycles = 50'000'000;
  float ms = 0;
  for (int i = 0; i < 3; ++i) {  // the first ones bring the clock up
    cudaEventRecord(begin, stream);
    at::cuda::sleep(cycles);
    cudaEventRecord(end, stream);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&ms, begin, end);
  }
  return static_cast<double>(cycles) / ms;
}

/// Two communicators of this process, one a GPU; only GPU 0's side is looked at.
class TwoGpus {
 public:
  explicit TwoGpus(std::size_t bytes) : count_(bytes / sizeof(float)) {
    const int devices[] = {0, 1};
    ok_ = ncclCommInitAll(comms_, 2, devices) == ncclSuccess;
    for (int i = 0; i < 2; ++i) {
      const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(i));
      ok_ = ok_ && cudaMalloc(reinterpret_cast<void**>(&data_[i]), bytes) == cudaSuccess;
      cudaStreamCreateWithFlags(&streams_[i], cudaStreamNonBlocking);
      cudaEventCreateWithFlags(&joined_[i], cudaEventDisableTiming);
    }
  }
  bool ok() const { return ok_; }

  /// All-reduce behind what `main` holds; join() makes `main` wait for it.
  void start(cudaStream_t main) {
    cudaEvent_t forked = nullptr;
    cudaEventCreateWithFlags(&forked, cudaEventDisableTiming);
    cudaEventRecord(forked, main);
    ncclGroupStart();
    for (int i = 0; i < 2; ++i) {
      const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(i));
      cudaStreamWaitEvent(streams_[i], forked, 0);
      ncclAllReduce(data_[i], data_[i], count_, ncclFloat, ncclSum, comms_[i], streams_[i]);
    }
    ncclGroupEnd();
    for (int i = 0; i < 2; ++i) {
      const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(i));
      cudaEventRecord(joined_[i], streams_[i]);
    }
  }
  void join(cudaStream_t main) {
    for (const auto event : joined_) cudaStreamWaitEvent(main, event, 0);
  }

 private:
  std::size_t count_;
  bool ok_ = false;
  ncclComm_t comms_[2] = {};
  float* data_[2] = {};
  cudaStream_t streams_[2] = {};
  cudaEvent_t joined_[2] = {};
};

/// What one step should look like, ms.
struct Expected {
  double compute = 0, exposed_comm = 0, exposed_copy = 0, idle = 0;
};

class CudaTrace : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU here";
    room_ = make_cuda_room(0);
    stream_ = at::cuda::getStreamFromPool(false, 0);
    c10::cuda::setCurrentCUDAStream(*stream_);
    rate_ = cycles_per_ms(*stream_);
  }

  void spin(double ms) { at::cuda::sleep(static_cast<std::int64_t>(ms * rate_)); }
  void gap(double& ms) { cudaLaunchHostFunc(*stream_, &sleep_on_host, &ms); }

  /// Runs `step` traced, eagerly or as a graph, and returns what the product makes of it.
  void run(const std::function<void()>& step) {
    TraceLog log;
    TracedPass pass(log, *room_);
    const auto make_graph = [&] {
      cudaGraph_t graph = nullptr;
      ASSERT_EQ(cudaStreamBeginCapture(*stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
      pass.phase("forward");
      step();
      ASSERT_EQ(cudaStreamEndCapture(*stream_, &graph), cudaSuccess) << cudaGetErrorString(cudaGetLastError());
      ASSERT_EQ(cudaGraphInstantiate(&graph_, graph, 0), cudaSuccess);
    };
    for (int i = 0; i < 3; ++i) step();
    room_->synchronize();
    pass.start(steps);
    ASSERT_TRUE(pass.recorded()) << pass.absent();
    if (GetParam()) make_graph();
    for (int i = 0; i < 2; ++i) one(step, pass, false);
    auto clock = room_->make_clock(steps + 1);
    clock->mark(0);
    for (std::size_t i = 0; i < steps; ++i) {
      pass.begin_step(i);
      one(step, pass, true);
      clock->mark(i + 1);
    }
    pass.begin_step(steps);
    clock->drain(steps, [](std::size_t) {});
    std::vector<double> step_ms(steps);
    for (std::size_t i = 0; i < steps; ++i) step_ms[i] = clock->elapsed_ms(i);
    room_->synchronize();
    pass.stop(step_ms);
    const auto path = testing::TempDir() + "ground_truth.trace.json.gz";
    pass.write(path, 0, 1, "nccl");
    auto timelines = trace::read_trace(path);
    ASSERT_EQ(timelines.size(), 1u);
    timeline_ = std::move(timelines.front());
    excluded_ = trace::sanitize(timeline_);
    breakdown_ = trace::break_down(timeline_);
    event_ms_ = 0;
    for (const auto ms : step_ms) event_ms_ += ms / steps;
  }

  void expect(const Expected& expected) {
    const auto& total = breakdown_.total;
    const auto percent = [&](std::int64_t ns) {
      return 100 * static_cast<double>(ns) / static_cast<double>(total.window);
    };
    const auto wanted = [&](double ms) { return 100 * ms / event_ms_; };
    std::printf("%s: window %.3f ms a step (events %.3f)\n", GetParam() ? "graph" : "eager",
                static_cast<double>(total.window) / 1e6 / steps, event_ms_);
    const auto line = [&](const char* name, std::int64_t seen, double ms) {
      std::printf("  %-13s measured %6.2f %%, constructed %6.2f %%\n", name, percent(seen), wanted(ms));
      EXPECT_NEAR(percent(seen), wanted(ms), points) << name;
    };
    line("compute", total.compute, expected.compute);
    line("exposed comm", total.exposed_comm, expected.exposed_comm);
    line("exposed copy", total.exposed_copy, expected.exposed_copy);
    line("idle", total.idle, expected.idle);
    EXPECT_NEAR(static_cast<double>(total.window) / 1e6 / steps, event_ms_, 0.01 * event_ms_);
    const auto reasons = trace::unreliable_because(timeline_, breakdown_, excluded_);
    EXPECT_TRUE(reasons.empty()) << reasons.front();
    EXPECT_EQ(breakdown_.steps.size(), steps);
  }

  std::unique_ptr<DeviceRoom> room_;
  std::optional<at::cuda::CUDAStream> stream_;
  double rate_ = 0, event_ms_ = 0;
  trace::RankTimeline timeline_;
  trace::RankBreakdown breakdown_;
  std::int64_t excluded_ = 0;

 private:
  void one(const std::function<void()>& step, TracedPass& pass, bool marked) {
    if (GetParam()) {
      ASSERT_EQ(cudaGraphLaunch(graph_, *stream_), cudaSuccess);
      return;
    }
    if (marked) pass.phase("forward");
    step();
  }

  cudaGraphExec_t graph_ = nullptr;
};

TEST_P(CudaTrace, SpinsAndGaps) {
  double rest = 5;
  run([&] {
    spin(15);
    gap(rest);
  });
  expect({.compute = 15, .idle = event_ms_ - 15});
  EXPECT_NEAR(event_ms_, 20, 1);
  EXPECT_EQ(breakdown_.total.kernels, static_cast<std::int64_t>(steps));
  if (GetParam()) {
    EXPECT_EQ(breakdown_.total.graph_launches, static_cast<std::int64_t>(steps));
    EXPECT_GE(timeline_.device_phases.size(), steps) << "phases are marked inside the graph";
  }
}

TEST_P(CudaTrace, TwoStreamsCountOnce) {
  const auto side = at::cuda::getStreamFromPool(false, 0);
  cudaEvent_t forked = nullptr, joined = nullptr;
  cudaEventCreateWithFlags(&forked, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&joined, cudaEventDisableTiming);
  double rest = 6;
  run([&] {
    cudaEventRecord(forked, *stream_);
    cudaStreamWaitEvent(side, forked, 0);
    spin(10);
    {
      const c10::cuda::CUDAStreamGuard guard(side);
      spin(14);
      cudaEventRecord(joined, side);
    }
    cudaStreamWaitEvent(*stream_, joined, 0);
    gap(rest);
  });
  expect({.compute = 14, .idle = event_ms_ - 14});
  EXPECT_LT(breakdown_.total.stall_article(), breakdown_.total.stall_ratio()) << "sums count an overlap twice";
}

TEST_P(CudaTrace, CopiesBareAndHidden) {
  constexpr std::size_t bytes = 512u << 20;
  void *host = nullptr, *device = nullptr;
  REQUIRE_CUDA(cudaMallocHost(&host, bytes));
  REQUIRE_CUDA(cudaMalloc(&device, bytes));
  cudaEvent_t begin = nullptr, end = nullptr;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  float copy_ms = 0;
  for (int i = 0; i < 3; ++i) {
    cudaEventRecord(begin, *stream_);
    cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, *stream_);
    cudaEventRecord(end, *stream_);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&copy_ms, begin, end);
  }
  run([&] {
    spin(20);
    cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, *stream_);
  });
  expect({.compute = 20, .exposed_copy = event_ms_ - 20});
  EXPECT_NEAR(event_ms_ - 20, copy_ms, 0.1 * copy_ms);
}

TEST_P(CudaTrace, NcclExposedAndHidden) {
  int devices = 0;
  cudaGetDeviceCount(&devices);
  if (devices < 2) GTEST_SKIP() << "needs two GPUs";
  TwoGpus gpus(std::size_t{1} << 30);
  ASSERT_TRUE(gpus.ok());
  double rest = 4;
  // Communication lasts longer than the kernel beside it: the rest of it is exposed. The same all-reduce alone is timed
  // by events first.
  cudaEvent_t begin = nullptr, end = nullptr;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  float comm_ms = 0;
  for (int i = 0; i < 5; ++i) {
    cudaEventRecord(begin, *stream_);
    gpus.start(*stream_);
    gpus.join(*stream_);
    cudaEventRecord(end, *stream_);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&comm_ms, begin, end);
  }
  const double hidden = comm_ms / 2;
  run([&] {
    gpus.start(*stream_);
    spin(hidden);
    gpus.join(*stream_);
    spin(10);
    gap(rest);
  });
  const double comm_exposed = comm_ms - hidden;
  expect({.compute = hidden + 10, .exposed_comm = comm_exposed, .idle = event_ms_ - hidden - 10 - comm_exposed});
  ASSERT_TRUE(breakdown_.total.overlap_ratio());
  EXPECT_NEAR(100 * *breakdown_.total.overlap_ratio(), 50, 5);
}

INSTANTIATE_TEST_SUITE_P(EagerAndGraph, CudaTrace, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "graph" : "eager"); });

}  // namespace
}  // namespace stepgauge::worker
