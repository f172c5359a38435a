#include "launch/rank_process.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <system_error>
#include <utility>

namespace stepgauge::launch {
namespace {

/// Everything the child needs, as plain pointers and numbers.
struct ChildImage {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int null, out, err, progress, store, report;
  int open_max, death_signal;
  pid_t parent;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const auto& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

/// A copy above every number that the child dup2()s to.
machine::UniqueFd raised(int fd) {
  machine::UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 16));
  if (!copy) throw std::system_error(errno, std::generic_category(), "cannot duplicate a descriptor");
  return copy;
}

void close_on_exec_from(int first, int open_max) noexcept {
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0u, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (int fd = first; fd < open_max; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

[[noreturn]] void report_and_leave(int report) noexcept {
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(report, &error, sizeof error);
  ::_exit(127);
}

/// Runs in the child between fork and exec: async-signal-safe calls alone.
[[noreturn]] void become_rank(const ChildImage& image) noexcept {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, image.death_signal);
  if (::getppid() != image.parent) ::_exit(127);  // the parent died before the line above

  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &plain, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);

  if (::dup2(image.null, STDIN_FILENO) < 0 || ::dup2(image.out, STDOUT_FILENO) < 0 ||
      ::dup2(image.err, STDERR_FILENO) < 0 || ::dup2(image.progress, SpawnPlan::progress_fd) < 0) {
    report_and_leave(image.report);
  }
  int first_closed = SpawnPlan::progress_fd + 1;
  if (image.store >= 0) {
    if (::dup2(image.store, SpawnPlan::store_fd) < 0) report_and_leave(image.report);
    first_closed = SpawnPlan::store_fd + 1;
  }
  close_on_exec_from(first_closed, image.open_max);
  ::execve(image.program, image.arguments, image.environment);
  report_and_leave(image.report);
}

/// The child's errno from the pipe; 0 when exec closed it.
int await_exec(int report) {
  int error = 0;
  while (true) {
    const auto count = ::read(report, &error, sizeof error);
    if (count < 0 && errno == EINTR) continue;
    return count == sizeof error ? error : 0;
  }
}

int open_max() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 65536) return 65536;
  return static_cast<int>(limit.rlim_cur);
}

}  // namespace

std::string find_program(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos || name.empty()) return name;
  std::size_t start = 0;
  while (start <= path.size()) {
    const auto end = std::min(path.find(':', start), path.size());
    const auto folder = path.substr(start, end - start);
    auto candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    start = end + 1;
  }
  return {};
}

RankProcess::RankProcess(const SpawnPlan& plan) {
  if (plan.program.empty()) throw std::system_error(ENOENT, std::generic_category());
  const machine::UniqueFd null_device(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  int ends[2];
  if (!null_device || ::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category());
  const machine::UniqueFd report_read(ends[0]);
  machine::UniqueFd report_write(ends[1]);
  const auto null = raised(null_device.get());
  const auto out = raised(plan.out);
  const auto err = raised(plan.err);
  const auto progress = raised(plan.progress);
  const auto store = plan.store >= 0 ? raised(plan.store) : machine::UniqueFd();
  auto report = raised(report_write.get());
  report_write.reset();
  const auto arguments = pointers(plan.arguments);
  const auto environment = pointers(plan.environment);
  const ChildImage image{
      plan.program.c_str(), arguments.data(), environment.data(), null.get(), out.get(),         err.get(),
      progress.get(),       store.get(),      report.get(),       open_max(), plan.death_signal, ::getpid()};

  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) become_rank(image);
  pid_ = child;
  report.reset();
  if (const int error = await_exec(report_read.get()); error != 0) {
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
    throw std::system_error(error, std::generic_category());
  }
  pidfd_ = machine::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
}

RankProcess::RankProcess(RankProcess&& other) noexcept
    : pid_(other.pid_),
      pidfd_(std::move(other.pidfd_)),
      reaped_(std::exchange(other.reaped_, true)),
      status_(other.status_),
      usage_(other.usage_) {}

RankProcess::~RankProcess() {
  if (reaped_) return;
  send(SIGKILL);
  constexpr timespec pause{0, 1'000'000};
  for (int tries = 0; tries < 1000 && !reap(); ++tries)
    ::nanosleep(&pause, nullptr);  // a process stuck in the kernel stays
}

bool RankProcess::reap() noexcept {
  if (reaped_) return true;
  pid_t result = 0;
  do {
    result = ::wait4(pid_, &status_, WNOHANG, &usage_);
  } while (result < 0 && errno == EINTR);
  reaped_ = result == pid_ || (result < 0 && errno == ECHILD);
  return reaped_;
}

void RankProcess::send(int signal) const noexcept {
  if (reaped_) return;
  ::kill(-pid_, signal);
  ::kill(pid_, signal);
}

std::optional<int> RankProcess::exit_code() const {
  if (!reaped_ || !WIFEXITED(status_)) return std::nullopt;
  return WEXITSTATUS(status_);
}

std::optional<int> RankProcess::term_signal() const {
  if (!reaped_ || !WIFSIGNALED(status_)) return std::nullopt;
  return WTERMSIG(status_);
}

}  // namespace stepgauge::launch
