#pragma once
// The progress channel of a rank: lines on a pipe that the launcher reads. Never blocks; without a pipe it does
// nothing.
#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>
#include <utility>

namespace stepgauge::worker {

class Progress {
 public:
  /// Takes the pipe from STEPGAUGE_PROGRESS_FD, or opens the one that STEPGAUGE_PROGRESS_FIFO names.
  Progress();

  void phase(std::string_view name);
  /// `follow` is told each phase that begins from now on, on the thread that begins it.
  void on_phase(std::function<void(std::string_view)> follow) { follow_ = std::move(follow); }

  /// One store; a thread of its own writes the newest step five times a second, and only when it has changed, so that a
  /// timed loop neither writes nor reads a clock, and the last step before a hang is known.
  void step(std::int64_t index) { step_.store(index, std::memory_order_relaxed); }

 private:
  void send(std::string_view line);
  void report_steps(const std::stop_token& stop);

  int fd_ = -1;
  std::function<void(std::string_view)> follow_;
  std::atomic<std::int64_t> step_{-1};
  std::jthread reporter_;
};

}  // namespace stepgauge::worker
