#pragma once
#include <cstdint>

#include "launch/unique_fd.hpp"

namespace stepgauge::launch {

/// A TCP socket that listens on 127.0.0.1 at a port the kernel chose, so that nobody can take the port between its
/// choice and its use.
struct ListenSocket {
  UniqueFd fd;
  std::uint16_t port = 0;

  /// Throws std::system_error.
  static ListenSocket open();
};

}  // namespace stepgauge::launch
