#include "machine/proc_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <vector>

namespace stepgauge::machine {
namespace {

constexpr std::size_t most_bytes = 4u << 20;

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view blanks = " \t\r";
  std::vector<std::string_view> out;
  for (;;) {
    const auto first = line.find_first_not_of(blanks);
    if (first == std::string_view::npos) return out;
    line.remove_prefix(first);
    const auto length = std::min(line.find_first_of(blanks), line.size());
    out.push_back(line.substr(0, length));
    line.remove_prefix(length);
  }
}

/// Calls `visit` with every line until it returns false.
template <typename Visit>
void each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (!visit(text.substr(0, end)) || end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

/// N of a line "cpuN ..."; the line "cpu ..." of all cores has none.
std::optional<int> core_of(std::string_view word) {
  return word.starts_with("cpu") ? number<int>(word.substr(3)) : std::nullopt;
}

}  // namespace

std::optional<std::string> read_proc_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string text;
  std::array<char, 16384> buffer;
  ssize_t count = 0;
  while (text.size() < most_bytes) {
    count = ::read(file, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ::close(file);
  return count < 0 ? std::nullopt : std::optional<std::string>(std::move(text));
}

std::optional<CpuTicks> cpu_ticks(std::string_view proc_stat, const std::function<bool(int core)>& counts) {
  constexpr std::size_t steal_field = 8;  // word 0 is the core's name
  CpuTicks out;
  each_line(proc_stat, [&](std::string_view line) {
    if (!line.starts_with("cpu")) return false;  // the cores stand first
    const auto words = words_of(line);
    const auto core = core_of(words.front());
    if (!core || words.size() <= steal_field || !counts(*core)) return true;
    for (std::size_t i = 1; i <= steal_field; ++i) out.total += number<std::uint64_t>(words[i]).value_or(0);
    out.steal += number<std::uint64_t>(words[steal_field]).value_or(0);
    return true;
  });
  if (out.total == 0) return std::nullopt;
  return out;
}

std::optional<std::int64_t> procs_running(std::string_view proc_stat) {
  constexpr std::string_view name = "procs_running ";
  std::optional<std::int64_t> out;
  each_line(proc_stat, [&](std::string_view line) {
    if (line.starts_with(name)) out = number<std::int64_t>(line.substr(name.size()));
    return !out;
  });
  return out;
}

std::optional<std::int64_t> status_number(std::string_view proc_status, std::string_view name) {
  std::optional<std::int64_t> out;
  each_line(proc_status, [&](std::string_view line) {
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") return true;
    const auto words = words_of(line.substr(name.size() + 1));
    if (!words.empty()) out = number<std::int64_t>(words.front());
    return false;
  });
  return out;
}

std::optional<ProcessFaults> process_faults(std::string_view proc_pid_stat) {
  // After the name in brackets: state, parent, group, session, terminal, its group, flags, minor faults, those of
  // children, major faults.
  const auto close = proc_pid_stat.rfind(')');
  if (close == std::string_view::npos) return std::nullopt;
  const auto words = words_of(proc_pid_stat.substr(close + 1));
  if (words.size() < 10) return std::nullopt;
  const auto parent = number<pid_t>(words[1]);
  const auto minor = number<std::int64_t>(words[7]);
  const auto major = number<std::int64_t>(words[9]);
  if (!parent || !minor || !major) return std::nullopt;
  return ProcessFaults{*parent, *minor, *major};
}

}  // namespace stepgauge::machine
