#include "machine/host.hpp"

#include <sched.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>
#include <thread>

#include "machine/proc_files.hpp"

namespace stepgauge::machine {
namespace {

std::string slurp(const std::string& path) {
  return read_proc_file(path).value_or("");
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

template <typename Visit>
void each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    visit(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

/// Values of the lines "key<separator>value".
std::vector<std::string_view> values_of(std::string_view text, std::string_view key, char separator) {
  std::vector<std::string_view> out;
  each_line(text, [&](std::string_view line) {
    const auto at = line.find(separator);
    if (at != std::string_view::npos && trim(line.substr(0, at)) == key) out.push_back(trim(line.substr(at + 1)));
  });
  return out;
}

std::optional<double> leading_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

int numa_node_count() {
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/node", error)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with("node") && name.size() > 4 && name[4] >= '0' && name[4] <= '9') ++count;
  }
  return std::max(count, 1);
}

std::vector<std::string> container_hints() {
  std::vector<std::string> hints;
  std::error_code error;
  for (const char* path : {"/.dockerenv", "/run/.containerenv"}) {
    if (std::filesystem::exists(path, error)) hints.emplace_back(path);
  }
  if (const char* kind = std::getenv("container"); kind != nullptr && *kind != '\0') {
    hints.push_back(std::string("container=") + std::string(kind).substr(0, 40));
  }
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) hints.emplace_back("kubernetes");
  return hints;
}

}  // namespace

std::string pretty_name(std::string_view os_release) {
  const auto values = values_of(os_release, "PRETTY_NAME", '=');
  if (values.empty()) return "unknown";
  auto name = values.front();
  if (name.size() >= 2 && (name.front() == '"' || name.front() == '\'') && name.back() == name.front()) {
    name = name.substr(1, name.size() - 2);
  }
  return std::string(name);
}

std::string cpu_model(std::string_view cpuinfo) {
  const auto values = values_of(cpuinfo, "model name", ':');
  return values.empty() ? "unknown" : std::string(values.front());
}

int socket_count(std::string_view cpuinfo) {
  const auto values = values_of(cpuinfo, "physical id", ':');
  return std::max<int>(1, static_cast<int>(std::set<std::string_view>(values.begin(), values.end()).size()));
}

double total_memory_gib(std::string_view meminfo) {
  const auto values = values_of(meminfo, "MemTotal", ':');
  const auto kib = values.empty() ? std::nullopt : leading_number(values.front());
  return kib.value_or(0) / (1024.0 * 1024.0);
}

std::optional<double> quota_cores(std::string_view cpu_max) {
  const auto text = trim(cpu_max);
  const auto space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto quota = leading_number(text);
  const auto period = leading_number(text.substr(space + 1));
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

namespace {

int within_quota(int cores) {
  const auto quota = quota_cores(slurp("/sys/fs/cgroup/cpu.max"));
  return quota ? std::min(cores, std::max(1, static_cast<int>(std::ceil(*quota)))) : cores;
}

}  // namespace

int usable_cores() {
  int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  cpu_set_t mask;
  if (::sched_getaffinity(0, sizeof mask, &mask) == 0) cores = std::max(1, CPU_COUNT(&mask));
  return within_quota(cores);
}

void inspect_host(Machine& machine) {
  auto release = slurp("/etc/os-release");
  if (release.empty()) release = slurp("/usr/lib/os-release");
  machine.os = pretty_name(release);
  utsname names{};
  if (::uname(&names) == 0) machine.kernel = std::string(names.sysname) + " " + names.release + " " + names.machine;
  const auto cpuinfo = slurp("/proc/cpuinfo");
  const auto online = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  machine.cpu = {cpu_model(cpuinfo), usable_cores(), socket_count(cpuinfo), numa_node_count(), within_quota(online)};
  machine.memory_gib = total_memory_gib(slurp("/proc/meminfo"));
  if (const auto limit = leading_number(slurp("/sys/fs/cgroup/memory.max")); limit && *limit > 0) {
    machine.memory_gib = std::min(machine.memory_gib, *limit / (1024.0 * 1024.0 * 1024.0));
  }
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) == 0) {
    machine.shm = SharedMemory{static_cast<std::uint64_t>(shm.f_blocks) * shm.f_frsize,
                               static_cast<std::uint64_t>(shm.f_bavail) * shm.f_frsize};
  }
  machine.container = container_hints();
}

}  // namespace stepgauge::machine
