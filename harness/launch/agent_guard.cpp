#include "launch/agent_guard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

#include "contract/clock.hpp"
#include "launch/clock.hpp"
#include "launch/engine_request.hpp"
#include "launch/process_tree.hpp"

namespace stepgauge::launch {
namespace {

constexpr auto look_every = std::chrono::milliseconds(100);

double now_s() {
  return 1e-9 * static_cast<double>(monotonic_ns());
}

/// Nothing here waits for a file: this is the last resort of a host that was cut off.
[[noreturn]] void end_everything() {
  for (int round = 0; round < 3; ++round) {
    for (const auto& process : own_descendants({})) send_signal(process.id, round == 0 ? SIGSTOP : SIGKILL);
  }
  ::_exit(1);
}

}  // namespace

AgentGuard::AgentGuard(std::filesystem::path folder, int signal_fd, double deadline_s)
    : folder_(std::move(folder)), signal_fd_(signal_fd), parent_(::getppid()), deadline_s_(now_s() + deadline_s) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  read_end_ = machine::UniqueFd(ends[0]);
  write_end_ = machine::UniqueFd(ends[1]);
  launcher_sign_s_ = now_s();
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the agent's own thread
  thread_ = std::thread([this] { watch(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

AgentGuard::~AgentGuard() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  over_.notify_all();
  thread_.join();
}

bool AgentGuard::triggered() const {
  const std::lock_guard lock(mutex_);
  return !why_.empty();
}

std::string AgentGuard::why() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

void AgentGuard::watch() {
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, look_every, [this] { return ending_; })) {
    if (now_s() > deadline_s_) end_everything();
    if (!why_.empty()) continue;
    lock.unlock();
    auto why = look();
    lock.lock();
    if (why.empty()) continue;
    why_ = std::move(why);
    [[maybe_unused]] const auto written = ::write(write_end_.get(), "x", 1);
  }
}

std::string AgentGuard::look() {
  pollfd signal{signal_fd_, POLLIN, 0};
  if (signal_fd_ >= 0 && ::poll(&signal, 1, 0) > 0) return "a signal came";
  if (::getppid() != parent_) return "the engine is gone";
  if (is_there(folder_, stop_file_name)) return "the launcher asked for it";
  if (launcher_silent()) return "the launcher is gone";
  return {};
}

bool AgentGuard::launcher_silent() {
  const machine::UniqueFd file(::open((folder_ / launcher_alive_name).c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (file && ::fstat(file.get(), &info) == 0 && info.st_size != launcher_size_) {
    launcher_size_ = info.st_size;
    launcher_sign_s_ = now_s();
  }
  return now_s() - launcher_sign_s_ > launcher_silence_s;
}

}  // namespace stepgauge::launch
