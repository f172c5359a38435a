#pragma once
#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "machine/unique_fd.hpp"

namespace stepgauge::launch {

/// What a rank is started with; prepared before fork, since nothing may be allocated after it.
struct SpawnPlan {
  static constexpr int progress_fd = 3;  ///< numbers in the rank
  static constexpr int store_fd = 4;

  std::string program;  ///< path
  std::vector<std::string> arguments;
  std::vector<std::string> environment;   ///< "NAME=value"
  int out = -1, err = -1, progress = -1;  ///< write ends
  int store = -1;                         ///< -1: none
  int death_signal = SIGKILL;             ///< comes when the calling thread ends
};

/// Looks `name` up in `path` (PATH's syntax); as it is when it has a "/"; empty when it is not found.
std::string find_program(const std::string& name, const std::string& path);

/// A child in its own session and process group, with stdin from /dev/null, no core files, no other descriptors,
/// default signal handling, and the plan's signal for it when the calling thread ends. The destructor kills what is
/// still running.
class RankProcess {
 public:
  /// Returns once the program runs; throws std::system_error with the errno of fork or exec otherwise.
  explicit RankProcess(const SpawnPlan& plan);
  RankProcess(RankProcess&& other) noexcept;
  RankProcess& operator=(RankProcess&&) = delete;
  ~RankProcess();

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }  ///< readable once it ended; -1 on kernels without pidfd_open

  /// True once it has ended and was reaped; does not wait.
  bool reap() noexcept;
  bool running() const { return !reaped_; }
  /// To the process and to its group.
  void send(int signal) const noexcept;

  std::optional<int> exit_code() const;
  std::optional<int> term_signal() const;
  const rusage& usage() const { return usage_; }

 private:
  pid_t pid_ = -1;
  machine::UniqueFd pidfd_;
  bool reaped_ = false;
  int status_ = 0;
  rusage usage_{};
};

}  // namespace stepgauge::launch
