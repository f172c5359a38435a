#pragma once
// Watches the devices and the host of one launch from a thread of the CLI, outside every rank.
#include <chrono>
#include <memory>
#include <vector>

#include "contract/health.hpp"

namespace stepgauge::machine {

inline constexpr std::chrono::milliseconds health_period{250};

/// Samples from its construction to finish(): devices through NVML, or steal and run queue of the host where there are
/// none, and the processes of the ranks. The constructor takes the first sample and finish() the last, so that a launch
/// shorter than the period has two. Never throws for what cannot be read.
class HealthSampler {
 public:
  /// `devices` as CUDA counts them; empty for a launch on the CPU.
  explicit HealthSampler(const std::vector<int>& devices, std::chrono::milliseconds period = health_period);
  ~HealthSampler();
  HealthSampler(const HealthSampler&) = delete;
  HealthSampler& operator=(const HealthSampler&) = delete;

  /// Watches this rank's process as well, as long as it lives. Does not wait for a sample under way.
  void watch_rank(int rank, std::int64_t pid);

  /// Ends the thread and takes the last sample. Call once; times are counted from `launch_began`.
  HealthSamples finish(std::chrono::steady_clock::time_point launch_began);

 private:
  class Sampling;
  std::unique_ptr<Sampling> sampling_;
};

}  // namespace stepgauge::machine
