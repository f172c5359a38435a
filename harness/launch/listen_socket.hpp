#pragma once
#include <cstdint>
#include <string>

#include "machine/unique_fd.hpp"

namespace stepgauge::launch {

/// A TCP socket that listens on an address of this host at a port the kernel chose, so that nobody can take the port
/// between its choice and its use.
struct ListenSocket {
  machine::UniqueFd fd;
  std::uint16_t port = 0;

  /// `address`: IPv4, dotted. Throws std::system_error naming it.
  static ListenSocket open(const std::string& address = "127.0.0.1");

  /// One that only holds the port, for a program that cannot inherit the socket: that program may bind and listen there
  /// itself, with SO_REUSEADDR as servers do, while this one lives; nobody is given the port by chance meanwhile.
  static ListenSocket reserve(const std::string& address = "127.0.0.1");
};

}  // namespace stepgauge::launch
