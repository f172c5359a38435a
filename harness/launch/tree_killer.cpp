#include "launch/tree_killer.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>

namespace stepgauge::launch {
namespace {

constexpr double kill_patience_s = 10;
constexpr double busy_s = 1;  // without a pause, against processes that keep forking

class Stopwatch {
 public:
  double elapsed_s() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

std::optional<int> rank_of(pid_t pid, const std::string& launch_id) {
  if (variable_of(pid, "STEPGAUGE_LAUNCH_ID") != launch_id) return std::nullopt;
  const auto text = variable_of(pid, "RANK").value_or("");
  int rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return rank;
}

}  // namespace

TreeKiller::TreeKiller(std::string launch_id) : launch_id_(std::move(launch_id)), spare_(own_children()) {}

void TreeKiller::send(int signal) const noexcept {
  try {
    for (const auto& process : own_descendants(spare_)) {
      if (process.state != 'Z') send_signal(process.id, signal);
    }
  } catch (const std::exception&) {  // out of memory: the ranks themselves are still signalled by their owners
  }
}

std::vector<LeftBehind> TreeKiller::running() const {
  std::vector<LeftBehind> out;
  for (const auto& process : own_descendants(spare_)) {
    if (process.state == 'Z' || process.state == 'X') continue;
    out.push_back({rank_of(process.id.pid, launch_id_), process.id.pid, command_line(process)});
  }
  return out;
}

bool TreeKiller::reap_and_check_empty() const {
  // Only a look that sees nothing at all is proof: while a zombie was there, what it forked last may have come to this
  // process after the look had begun.
  while (true) {
    const auto seen = own_descendants(spare_);
    if (seen.empty()) return true;
    bool reaped = false;
    for (const auto& process : seen) {
      if (process.parent == ::getpid() && process.state == 'Z') {
        reaped |= ::waitpid(process.id.pid, nullptr, WNOHANG) == process.id.pid;
      }
    }
    if (!reaped) return false;
  }
}

bool TreeKiller::wait_until_gone(const std::function<double()>& limit_s, const std::function<void()>& idle) const {
  for (const Stopwatch waited; waited.elapsed_s() < limit_s();) {
    if (reap_and_check_empty()) return true;
    idle();
  }
  return false;
}

bool TreeKiller::end(bool term_first, const std::function<double()>& grace_s, const std::function<void()>& idle) const {
  if (reap_and_check_empty()) return true;
  if (term_first) {
    send(SIGTERM);
    if (wait_until_gone(grace_s, idle)) return true;
  }
  const Stopwatch killing;
  while (!reap_and_check_empty()) {
    if (killing.elapsed_s() > kill_patience_s) return false;
    // Stopped first, so that a process that keeps forking cannot outrun the look at /proc.
    send(SIGSTOP);
    send(SIGKILL);
    if (killing.elapsed_s() > busy_s) idle();
  }
  return true;
}

}  // namespace stepgauge::launch
