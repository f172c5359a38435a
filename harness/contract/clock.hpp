#pragma once
// The clock that launcher and ranks share: a rank's phase `spawn` begins at a time that the launcher read.
#include <chrono>
#include <cstdint>
#include <ctime>

namespace stepgauge {

/// CLOCK_MONOTONIC now, ns.
inline std::int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace stepgauge
