#include "launch/network.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

#include "contract/suggest.hpp"
#include "machine/network_interfaces.hpp"

namespace stepgauge::launch {
namespace {

using machine::NetworkInterface;

const NetworkInterface* find_interface(const std::vector<NetworkInterface>& all, const std::string& name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const NetworkInterface& item) { return item.name == name; });
  return found == all.end() ? nullptr : &*found;
}

/// Addresses of this host's name that one of its interfaces really has.
std::vector<std::string> addresses_of_name(const std::string& name) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::vector<std::string> out;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return out;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> guard(found, &::freeaddrinfo);
  for (const auto* item = found; item != nullptr; item = item->ai_next)
    out.push_back(machine::ipv4_text(item->ai_addr));
  return out;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string interface_problem(const std::string& name) {
  if (name.empty()) return {};
  const auto all = machine::network_interfaces();
  std::vector<std::string> names;
  for (const auto& item : all) names.push_back(item.name);
  const auto* found = find_interface(all, name);
  if (found == nullptr) {
    return fmt::format("no network interface \"{}\" on {}{}", name, host_name(), suggestion(name, names));
  }
  if (!found->up) return fmt::format("network interface \"{}\" on {} is down", name, host_name());
  if (found->address.empty())
    return fmt::format("network interface \"{}\" on {} has no IPv4 address", name, host_name());
  return {};
}

std::string reachable_address(const std::string& interface) {
  if (auto problem = interface_problem(interface); !problem.empty()) throw std::runtime_error(problem);
  const auto all = machine::network_interfaces();
  if (!interface.empty()) return find_interface(all, interface)->address;
  const auto usable = [](const NetworkInterface& item) { return item.up && !item.loopback && !item.address.empty(); };
  for (const auto& address : addresses_of_name(host_name())) {
    if (std::any_of(all.begin(), all.end(), [&](const auto& item) { return usable(item) && item.address == address; }))
      return address;
  }
  const auto first = std::find_if(all.begin(), all.end(), usable);
  if (first == all.end()) {
    throw std::runtime_error(fmt::format("{} has no IPv4 address that another host could reach", host_name()));
  }
  return first->address;
}

}  // namespace stepgauge::launch
