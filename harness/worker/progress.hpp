#pragma once
// The progress channel of a rank: lines on a pipe that the launcher reads. Never blocks; without a pipe it
// does nothing.
#include <chrono>
#include <cstdint>
#include <string_view>

namespace stepgauge::worker {

class Progress {
 public:
  /// Takes the pipe from STEPGAUGE_PROGRESS_FD.
  Progress();

  void phase(std::string_view name);

  /// At most five lines a second, so that a timed loop pays a clock reading and nothing else.
  void step(std::int64_t index);

 private:
  void send(std::string_view line);

  int fd_ = -1;
  std::chrono::steady_clock::time_point last_step_{};
};

}  // namespace stepgauge::worker
