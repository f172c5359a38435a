#pragma once
// Where a hook of several collectives runs: one step behind the other, beside the backward pass, and without anybody
// waiting on the host of a device.
#include <torch/torch.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "worker/parallel/hooks/gradient_hook.hpp"

namespace stepgauge::worker {

/// On a device `work` is submitted at once, to one of two streams in turn, behind what the current stream has by now;
/// waiting for a collective there is a dependency of that stream alone, so that all of it can be captured. The streams
/// stay the same, so that the allocator and the libraries have what they need of them before a capture. On a CPU one
/// thread runs the work in the order in which it came: collectives are started in the same order on every rank.
class HookLane {
 public:
  explicit HookLane(torch::Device device);
  ~HookLane();
  HookLane(const HookLane&) = delete;
  HookLane& operator=(const HookLane&) = delete;

  /// The future holds what `work` returns, or the exception that it throws.
  HookFuture run(std::function<torch::Tensor()> work);

 private:
  struct Job {
    std::function<torch::Tensor()> work;
    HookFuture done;
  };
  void serve();

  torch::Device device_;
  std::vector<c10::Stream> streams_;  ///< of a device
  std::size_t next_ = 0;
  std::thread thread_;  ///< started by the first work of a CPU
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool stopping_ = false;
};

/// A future for a tensor on `device`, to be completed later.
HookFuture make_hook_future(torch::Device device);

}  // namespace stepgauge::worker
