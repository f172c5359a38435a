#pragma once
// The kernel's counters of cores and processes in /proc. Parsers are pure; what is not in the text is absent.
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "contract/health.hpp"

namespace stepgauge::machine {

/// The whole of a small file; nullopt when it cannot be read. The descriptor is not inherited by processes that another
/// thread starts meanwhile.
std::optional<std::string> read_proc_file(const std::string& path);

/// From /proc/stat: steal and total of the cores that `counts` says yes to; absent when there is none, or no core has
/// ticked at all. "total" is user, nice, system, idle, iowait, irq, softirq and steal: guest time is in user already.
std::optional<CpuTicks> cpu_ticks(std::string_view proc_stat, const std::function<bool(int core)>& counts);

/// From /proc/stat: runnable threads.
std::optional<std::int64_t> procs_running(std::string_view proc_stat);

/// From /proc/PID/status: the line "name:<spaces>NUMBER".
std::optional<std::int64_t> status_number(std::string_view proc_status, std::string_view name);

/// From /proc/PID/stat; the name of the process may hold spaces and brackets.
struct ProcessFaults {
  pid_t parent = 0;
  std::int64_t minor_faults = 0, major_faults = 0;
};
std::optional<ProcessFaults> process_faults(std::string_view proc_pid_stat);

}  // namespace stepgauge::machine
