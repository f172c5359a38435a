#include "worker/progress.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

namespace stepgauge::worker {

namespace {

/// The pipe that was inherited, else the named one that the launcher reads; -1 without either.
int open_channel() {
  if (const char* number = std::getenv("STEPGAUGE_PROGRESS_FD")) return std::atoi(number);
  const char* path = std::getenv("STEPGAUGE_PROGRESS_FIFO");
  return path == nullptr ? -1 : ::open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

}  // namespace

Progress::Progress() : fd_(open_channel()) {
  if (fd_ < 0) return;
  reporter_ = std::jthread([this](const std::stop_token& stop) { report_steps(stop); });
}

void Progress::phase(std::string_view name) {
  if (follow_) follow_(name);
  send(fmt::format("phase {}\n", name));
}

void Progress::report_steps(const std::stop_token& stop) {
  std::int64_t reported = -1;
  while (!stop.stop_requested()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const auto now = step_.load(std::memory_order_relaxed);
    if (now == reported) continue;
    reported = now;
    send(fmt::format("step {}\n", now));
  }
}

void Progress::send(std::string_view line) {
  if (fd_ < 0) return;
  // A full pipe drops the line (the pipe is non-blocking); a closed one means that the launcher is gone, which SIGKILL
  // follows.
  [[maybe_unused]] const auto written = ::write(fd_, line.data(), line.size());
}

}  // namespace stepgauge::worker
