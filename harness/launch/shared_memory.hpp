#pragma once
// NCCL's segments in /dev/shm: a killed rank leaves them behind, and they fill the little that a container has.
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "launch/launcher.hpp"

namespace stepgauge::launch {

/// Looks at the folder before and after a launch.
class SharedMemoryWatch {
 public:
  explicit SharedMemoryWatch(std::filesystem::path folder = "/dev/shm");

  /// Removes the segments `nccl-*` that appeared since construction, belong to this user and are mapped by no process;
  /// one line for people on what was removed and on what was left.
  std::vector<std::string> clean() const;

 private:
  std::filesystem::path folder_;
  std::set<std::string> before_;
};

/// A line for people when what the ranks said last points to shared memory: its free size and what helps.
std::vector<std::string> shared_memory_hints(const std::vector<RankExit>& ranks);

}  // namespace stepgauge::launch
