#pragma once
// The part of Machine that the kernel tells.
#include <string_view>

#include "machine/machine.hpp"

namespace stepgauge::machine {

void inspect_host(Machine& machine);

/// PRETTY_NAME of an os-release file, unquoted; "unknown" without one.
std::string pretty_name(std::string_view os_release);

/// The "model name" of /proc/cpuinfo, else "unknown".
std::string cpu_model(std::string_view cpuinfo);

/// Distinct "physical id"s of /proc/cpuinfo, at least 1.
int socket_count(std::string_view cpuinfo);

/// MemTotal of /proc/meminfo in GiB, 0 when it is not there.
double total_memory_gib(std::string_view meminfo);

/// Cores of a cgroup v2 `cpu.max` ("200000 100000" is 2); nullopt for "max" or nonsense.
std::optional<double> quota_cores(std::string_view cpu_max);

}  // namespace stepgauge::machine
