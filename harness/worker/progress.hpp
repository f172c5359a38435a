#pragma once
// The progress channel of a rank: lines on a pipe that the launcher reads. Never blocks; without a pipe it does
// nothing.
#include <atomic>
#include <cstdint>
#include <string_view>
#include <thread>

namespace stepgauge::worker {

class Progress {
 public:
  /// Takes the pipe from STEPGAUGE_PROGRESS_FD.
  Progress();

  void phase(std::string_view name);

  /// One store; a thread of its own writes the newest step five times a second, and only when it has changed, so that a
  /// timed loop neither writes nor reads a clock, and the last step before a hang is known.
  void step(std::int64_t index) { step_.store(index, std::memory_order_relaxed); }

 private:
  void send(std::string_view line);
  void report_steps(const std::stop_token& stop);

  int fd_ = -1;
  std::atomic<std::int64_t> step_{-1};
  std::jthread reporter_;
};

}  // namespace stepgauge::worker
