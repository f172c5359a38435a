#include "launch/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>

namespace stepgauge::launch {

double unix_s() {
  return unix_s(std::chrono::system_clock::now());
}

double unix_s(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

std::string utc_text(std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::system_clock::to_time_t(time);
  tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

void poll_for(std::vector<pollfd> items, double wait_s, int wake_fd) {
  if (wake_fd >= 0) items.push_back({wake_fd, POLLIN, 0});
  const int wait_ms = static_cast<int>(std::clamp(wait_s * 1000 + 0.999, 0.0, 60'000.0));
  if (::poll(items.data(), items.size(), wait_ms) < 0 && errno != EINTR) {
    throw std::system_error(errno, std::generic_category(), "poll");
  }
}

}  // namespace stepgauge::launch
