#include "launch/shared_memory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace stepgauge::launch {
namespace {

std::set<std::string> segments(const std::filesystem::path& folder) {
  std::set<std::string> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    auto name = entry.path().filename().string();
    if (name.starts_with("nccl-")) out.insert(std::move(name));
  }
  return out;
}

/// The `paths` that some process has mapped.
std::set<std::string> mapped(const std::vector<std::string>& paths) {
  std::set<std::string> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    if (const auto name = entry.path().filename().string(); name[0] < '0' || name[0] > '9') continue;
    std::ifstream maps(entry.path() / "maps");
    for (std::string line; std::getline(maps, line);) {
      for (const auto& path : paths) {
        if (line.ends_with(path)) out.insert(path);
      }
    }
  }
  return out;
}

bool owned_by_this_user(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
}

}  // namespace

SharedMemoryWatch::SharedMemoryWatch(std::filesystem::path folder)
    : folder_(std::move(folder)), before_(segments(folder_)) {}

std::vector<std::string> SharedMemoryWatch::clean() const {
  std::vector<std::string> fresh;
  for (const auto& name : segments(folder_)) {
    if (!before_.contains(name)) fresh.push_back((folder_ / name).string());
  }
  if (fresh.empty()) return {};
  const auto in_use = mapped(fresh);
  std::vector<std::string> removed;
  std::vector<std::string> left;
  for (const auto& path : fresh) {
    const bool ours = owned_by_this_user(path) && !in_use.contains(path);
    (ours && ::unlink(path.c_str()) == 0 ? removed : left).push_back(path);
  }
  std::vector<std::string> notes;
  if (!removed.empty()) notes.push_back(fmt::format("removed shared memory left behind: {}", fmt::join(removed, ", ")));
  if (!left.empty()) notes.push_back(fmt::format("shared memory of others appeared: {}", fmt::join(left, ", ")));
  return notes;
}

std::vector<std::string> shared_memory_hints(const std::vector<RankExit>& ranks) {
  const bool suspected = std::any_of(ranks.begin(), ranks.end(), [](const RankExit& rank) {
    return std::any_of(rank.last_lines.begin(), rank.last_lines.end(), [](const std::string& line) {
      return line.find("/dev/shm") != std::string::npos || line.find("shared memory") != std::string::npos;
    });
  });
  struct statvfs info {};
  if (!suspected || ::statvfs("/dev/shm", &info) != 0) return {};
  const auto mib = [&](auto blocks) {
    return static_cast<double>(blocks) * static_cast<double>(info.f_frsize) / 1048576;
  };
  return {
      fmt::format("shared memory is the likely cause: /dev/shm has {:.0f} MiB free of {:.0f}; give the container a "
                  "larger --shm-size, or set NCCL_SHM_DISABLE=1",
                  mib(info.f_bavail), mib(info.f_blocks))};
}

}  // namespace stepgauge::launch
