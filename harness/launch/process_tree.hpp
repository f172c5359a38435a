#pragma once
// Processes below this one, as /proc shows them.
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stepgauge::launch {

/// A process, told apart from a later one with the same pid by its start time.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
  auto operator<=>(const ProcessId&) const = default;
};

struct ProcessInfo {
  ProcessId id;
  pid_t parent = 0;
  char state = '?';  ///< 'Z': ended, not reaped
  std::string name;  ///< of the executable, at most 15 characters
};

std::optional<ProcessInfo> read_process(pid_t pid);

/// Fields of /proc/PID/stat; the name may hold spaces and brackets. nullopt for nonsense.
std::optional<ProcessInfo> parse_stat(const std::string& text);

/// Direct children of this process.
std::set<ProcessId> own_children();

/// Every descendant of this process, parents before children, without the children in `spare` and what is below them.
std::vector<ProcessInfo> own_descendants(const std::set<ProcessId>& spare);

/// The arguments, joined by spaces, printable; the name in brackets when there are none.
std::string command_line(const ProcessInfo& process);

/// A variable of the environment the process was started with.
std::optional<std::string> variable_of(pid_t pid, const std::string& name);

/// Sends a signal to exactly this process, never to a later one with its pid.
void send_signal(const ProcessId& id, int signal) noexcept;

}  // namespace stepgauge::launch
