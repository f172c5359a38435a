#pragma once
// A small training loop as a trace: what the host launches the device runs in order, so a wait planted on the host
// shows up where it would in a real one.
#include <algorithm>

#include "timelines.hpp"

namespace stepgauge::trace::test {

struct Training {
  int rank = 0, world_size = 1, steps = 10;
  std::int64_t sleep_before_optimizer = 0;  ///< ns, on the host in each step, in no call
  bool extra_copy = false, extra_kernel = false;
  std::int64_t gemm = 50 * us;
};

class TrainingLoop {
 public:
  explicit TrainingLoop(const Training& training) : training_(training) {
    out_.rank = training.rank;
    out_.world_size = training.world_size;
    out_.device_name = "NVIDIA H200";
  }

  RankTimeline run() {
    for (int step = 0; step < training_.steps; ++step) {
      const auto begin = device_;
      phase("forward", [&] {
        launch("Memcpy HtoD (Pinned -> Device)", 10 * us, ActivityKind::memcpy);
        if (training_.extra_copy) launch("Memcpy DtoD (Device -> Device)", 6 * us, ActivityKind::memcpy);
        for (int i = 0; i < 3; ++i) launch("sm90_gemm", training_.gemm);
      });
      phase("backward", [&] {
        for (int i = 0; i < 6; ++i) launch("sm90_gemm", training_.gemm);
        if (training_.extra_kernel) launch("void at::native::extra_kernel<float>(float*)", 8 * us);
        if (training_.world_size > 1) all_reduce();
      });
      phase("optimizer", [&] {
        host_ += training_.sleep_before_optimizer;
        launch("void multi_tensor_apply_kernel<Adam>(int)", 20 * us);
      });
      device_ += 5 * us;
      host_ = device_;
      add_step(out_, {begin, device_});
    }
    sort_activities(out_);
    return std::move(out_);
  }

 private:
  template <typename Body>
  void phase(const char* name, Body body) {
    const auto begin = host_;
    body();
    out_.phases.push_back({{begin, host_}, name});
  }

  /// A launch takes the host 4 us, the kernel begins 2 us after it at the earliest. The host waits for the kernel, so
  /// that every wait of the host is one of the device.
  void launch(const char* name, std::int64_t length, ActivityKind kind = ActivityKind::kernel) {
    const auto begin = std::max(device_, host_ + 6 * us);
    add_call(out_, {host_, host_ + 4 * us}, kind == ActivityKind::memcpy ? "cudaMemcpyAsync" : "cudaLaunchKernel",
             ++correlation_);
    add(out_, {begin, begin + length}, name, 7, kind).correlation = correlation_;
    device_ = begin + length;
    host_ = device_;
  }

  void all_reduce() {
    const auto begin = host_;
    launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 30 * us);
    const auto& kernel = out_.activities.back().time;
    out_.collectives.push_back({static_cast<std::int64_t>(out_.collectives.size()),
                                "all_reduce",
                                1 << 20,
                                0,
                                {begin, begin + 4 * us},
                                kernel});
  }

  Training training_;
  RankTimeline out_;
  std::int64_t host_ = 0, device_ = 0;
  std::uint32_t correlation_ = 0;
};

inline RankTimeline train(const Training& training = {}) {
  return TrainingLoop(training).run();
}

}  // namespace stepgauge::trace::test
