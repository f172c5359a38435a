#include "launch/process_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <sstream>

#include "launch/text.hpp"
#include "machine/unique_fd.hpp"

namespace stepgauge::launch {
namespace {

/// Contents of a /proc file, at most `max_bytes`; nullopt when it cannot be opened.
std::optional<std::string> read_proc(const std::string& path, std::size_t max_bytes = 64u << 10) {
  const machine::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  char buffer[4096];
  while (text.size() < max_bytes) {
    const auto count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

std::optional<pid_t> parse_pid(std::string_view text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc{} || end != text.data() + text.size() || pid <= 0) return std::nullopt;
  return pid;
}

/// The entries of a folder that are numbers.
std::vector<pid_t> numbered_entries(const std::string& folder) {
  std::vector<pid_t> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), ::closedir);
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) {
    if (const auto pid = parse_pid(entry->d_name)) out.push_back(*pid);
  }
  return out;
}

/// Children by /proc/PID/task/TID/children; nullopt on kernels without that file.
std::optional<std::vector<pid_t>> listed_children(pid_t parent) {
  std::vector<pid_t> out;
  const auto tasks = fmt::format("/proc/{}/task", parent);
  for (const auto task : numbered_entries(tasks)) {
    const auto text = read_proc(fmt::format("{}/{}/children", tasks, task), 4u << 20);
    if (!text) {
      if (::access(fmt::format("{}/{}", tasks, task).c_str(), F_OK) == 0) return std::nullopt;
      continue;
    }
    std::istringstream words(*text);
    for (pid_t pid = 0; words >> pid;) out.push_back(pid);
  }
  return out;
}

/// Parent to children over all of /proc.
std::multimap<pid_t, pid_t> all_children() {
  std::multimap<pid_t, pid_t> out;
  for (const auto pid : numbered_entries("/proc")) {
    if (const auto process = read_process(pid)) out.emplace(process->parent, pid);
  }
  return out;
}

using ChildrenOf = std::function<std::vector<pid_t>(pid_t)>;

/// The cheap way where the kernel has it: it costs as much as there are descendants, not as there are processes.
ChildrenOf children_source() {
  if (listed_children(::getpid())) {
    return [](pid_t pid) { return listed_children(pid).value_or(std::vector<pid_t>()); };
  }
  return [table = all_children()](pid_t pid) {
    std::vector<pid_t> out;
    const auto [first, last] = table.equal_range(pid);
    for (auto item = first; item != last; ++item) out.push_back(item->second);
    return out;
  };
}

}  // namespace

std::optional<ProcessInfo> parse_stat(const std::string& text) {
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  ProcessInfo out;
  out.name = text.substr(open + 1, close - open - 1);
  const auto pid = parse_pid(std::string_view(text).substr(0, text.find(' ')));
  std::istringstream rest(text.substr(close + 1));
  std::string skipped;
  rest >> out.state >> out.parent;
  for (int field = 5; field < 22; ++field) rest >> skipped;
  rest >> out.id.start_ticks;
  if (!pid || !rest) return std::nullopt;
  out.id.pid = *pid;
  return out;
}

std::optional<ProcessInfo> read_process(pid_t pid) {
  const auto text = read_proc(fmt::format("/proc/{}/stat", pid));
  return text ? parse_stat(*text) : std::nullopt;
}

std::set<ProcessId> own_children() {
  std::set<ProcessId> out;
  const auto children_of = children_source();
  for (const auto pid : children_of(::getpid())) {
    if (const auto process = read_process(pid)) out.insert(process->id);
  }
  return out;
}

std::vector<ProcessInfo> own_descendants(const std::set<ProcessId>& spare) {
  std::vector<ProcessInfo> out;
  const auto children_of = children_source();
  std::set<pid_t> seen;
  std::vector<pid_t> parents{::getpid()};
  for (std::size_t i = 0; i < parents.size(); ++i) {
    for (const auto pid : children_of(parents[i])) {
      const auto process = read_process(pid);
      if (!process || !seen.insert(pid).second || (i == 0 && spare.contains(process->id))) continue;
      parents.push_back(pid);
      out.push_back(*process);
    }
  }
  return out;
}

std::string command_line(const ProcessInfo& process) {
  auto text = read_proc(fmt::format("/proc/{}/cmdline", process.id.pid), 4096).value_or("");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (auto& c : text) {
    if (c == '\0') c = ' ';
  }
  return text.empty() ? fmt::format("[{}]", printable(process.name)) : printable(text, 200);
}

std::optional<std::string> variable_of(pid_t pid, const std::string& name) {
  const auto text = read_proc(fmt::format("/proc/{}/environ", pid), 1u << 20);
  if (!text) return std::nullopt;
  const auto prefix = name + "=";
  std::size_t start = 0;
  while (start < text->size()) {
    const auto end = std::min(text->find('\0', start), text->size());
    if (text->compare(start, prefix.size(), prefix) == 0) {
      return text->substr(start + prefix.size(), end - start - prefix.size());
    }
    start = end + 1;
  }
  return std::nullopt;
}

void send_signal(const ProcessId& id, int signal) noexcept {
  const machine::UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, id.pid, 0)));
  if (!pidfd && errno != ENOSYS) return;
  try {
    const auto now = read_process(id.pid);
    if (!now || now->id != id) return;
  } catch (const std::exception&) {
    return;
  }
  if (pidfd) {
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
  } else {
    ::kill(id.pid, signal);
  }
}

}  // namespace stepgauge::launch
