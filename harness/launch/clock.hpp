#pragma once
#include <poll.h>

#include <chrono>
#include <string>
#include <vector>

namespace stepgauge::launch {

double unix_s();  ///< seconds since 1970, UTC
double unix_s(std::chrono::system_clock::time_point time);

/// ISO 8601, whole seconds.
std::string utc_text(std::chrono::system_clock::time_point time);

/// poll() on `items`, and on `wake_fd` unless it is -1, for at most `wait_s`. Throws std::system_error; a signal ends
/// the wait.
void poll_for(std::vector<pollfd> items, double wait_s, int wake_fd = -1);

}  // namespace stepgauge::launch
