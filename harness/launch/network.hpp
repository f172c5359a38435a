#pragma once
// Under which name and address other hosts find this one.
#include <string>

namespace stepgauge::launch {

std::string host_name();  ///< as gethostname() says

/// Why the interface cannot be used: "no network interface "eth9" on n1; there are: lo, eth0", or it is down or has no
/// IPv4 address. Empty for a good one and for no name.
std::string interface_problem(const std::string& name);

/// Where other hosts reach this one: the address of `interface` where one is named, else the one that the host's name
/// has (not a loopback one), else the first of an interface that is up. Throws std::runtime_error when there is none.
std::string reachable_address(const std::string& interface);

}  // namespace stepgauge::launch
