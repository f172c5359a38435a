#include "machine/network_interfaces.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <memory>

namespace stepgauge::machine {

std::string ipv4_text(const sockaddr* address) {
  if (address == nullptr || address->sa_family != AF_INET) return {};
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text.data(), text.size());
  return text.data();
}

std::vector<NetworkInterface> network_interfaces() {
  ifaddrs* found = nullptr;
  std::vector<NetworkInterface> out;
  if (::getifaddrs(&found) != 0) return out;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> guard(found, &::freeifaddrs);
  for (const auto* item = found; item != nullptr; item = item->ifa_next) {
    auto known = std::find_if(out.begin(), out.end(),
                              [&](const NetworkInterface& other) { return other.name == item->ifa_name; });
    if (known == out.end()) {
      known = out.insert(out.end(),
                         {item->ifa_name, "", (item->ifa_flags & IFF_LOOPBACK) != 0, (item->ifa_flags & IFF_UP) != 0});
    }
    if (known->address.empty()) known->address = ipv4_text(item->ifa_addr);
  }
  return out;
}

}  // namespace stepgauge::machine
