#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "launch/process_tree.hpp"

namespace stepgauge::launch {

/// A process that was still there after its rank had ended.
struct LeftBehind {
  std::optional<int> rank;  ///< absent when it hides its environment
  pid_t pid = 0;
  std::string command;
};

/// The processes of one launch: every child that this process gained since construction, and all below them.
class TreeKiller {
 public:
  explicit TreeKiller(std::string launch_id);

  /// Signals all that are there now.
  void send(int signal) const noexcept;

  /// The ones that run now (no zombies), with their commands.
  std::vector<LeftBehind> running() const;

  /// Reaps what has ended; true as soon as none is left, false after `limit_s()`.
  bool wait_until_gone(const std::function<double()>& limit_s, const std::function<void()>& idle) const;

  /// Ends them all: SIGTERM, up to `grace_s()` for them to go, then SIGKILL until none is left; reaps what falls to
  /// this process. Call once every rank is reaped. `idle` is called between looks and may wait some milliseconds. False
  /// when something could not be killed within ten seconds.
  bool end(bool term_first, const std::function<double()>& grace_s, const std::function<void()>& idle) const;

 private:
  bool reap_and_check_empty() const;

  std::string launch_id_;
  std::set<ProcessId> spare_;
};

}  // namespace stepgauge::launch
