#pragma once
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "machine/unique_fd.hpp"

namespace stepgauge::launch {

/// Tells an agent when to end its rank: a signal, the launcher's stop file, the death of its parent (the engine), or
/// that the launcher itself gives no sign of life any more. A thread of its own looks, since the agent may hang on a
/// file system that went away; when the deadline comes and the agent still runs, it kills all below and the process.
class AgentGuard {
 public:
  static constexpr double launcher_silence_s = 30;

  /// `signal_fd`: readable once a signal came. `deadline_s`: from now on.
  AgentGuard(std::filesystem::path folder, int signal_fd, double deadline_s);
  ~AgentGuard();
  AgentGuard(const AgentGuard&) = delete;
  AgentGuard& operator=(const AgentGuard&) = delete;

  int fd() const { return read_end_.get(); }  ///< readable once the rank is to end
  bool triggered() const;
  std::string why() const;  ///< "the launcher asked for it"; empty before

 private:
  void watch();
  std::string look();
  bool launcher_silent();

  std::filesystem::path folder_;
  int signal_fd_, parent_;
  double deadline_s_;
  machine::UniqueFd read_end_, write_end_;
  double launcher_sign_s_ = 0;
  long long launcher_size_ = -1;
  mutable std::mutex mutex_;
  std::condition_variable over_;
  bool ending_ = false;
  std::string why_;
  std::thread thread_;
};

}  // namespace stepgauge::launch
