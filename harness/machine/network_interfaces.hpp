#pragma once
#include <sys/socket.h>

#include <string>
#include <vector>

namespace stepgauge::machine {

struct NetworkInterface {
  std::string name, address;  ///< "eth0", "10.0.0.4"; the address is IPv4, empty where it has none
  bool loopback = false, up = false;
};

/// Every interface of this host once, in the kernel's order, with its first IPv4 address; empty when the kernel does
/// not tell.
std::vector<NetworkInterface> network_interfaces();

/// "10.0.0.4"; empty for another family than IPv4 and for nullptr.
std::string ipv4_text(const sockaddr* address);

}  // namespace stepgauge::machine
