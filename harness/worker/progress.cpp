#include "worker/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace stepgauge::worker {

Progress::Progress() {
  if (const char* text = std::getenv("STEPGAUGE_PROGRESS_FD")) fd_ = std::atoi(text);
}

void Progress::phase(std::string_view name) {
  send(fmt::format("phase {}\n", name));
}

void Progress::step(std::int64_t index) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_step_ < std::chrono::milliseconds(200)) return;
  last_step_ = now;
  send(fmt::format("step {}\n", index));
}

void Progress::send(std::string_view line) {
  if (fd_ < 0) return;
  // A full pipe drops the line (the pipe is non-blocking); a closed one means that the launcher is gone,
  // which SIGKILL follows.
  [[maybe_unused]] const auto written = ::write(fd_, line.data(), line.size());
}

}  // namespace stepgauge::worker
