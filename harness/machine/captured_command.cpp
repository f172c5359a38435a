#include "machine/captured_command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

namespace stepgauge::machine {
namespace {

class PipeEnd {
 public:
  explicit PipeEnd(int fd) : fd_(fd) {}
  PipeEnd(PipeEnd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~PipeEnd() { reset(); }
  int get() const { return fd_; }
  void reset() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

struct Pipe {
  PipeEnd read, write;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  return {PipeEnd(ends[0]), PipeEnd(ends[1])};
}

/// posix_spawn file actions, destroyed with the scope.
class Actions {
 public:
  Actions() { ::posix_spawn_file_actions_init(&actions_); }
  ~Actions() { ::posix_spawn_file_actions_destroy(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  void redirect(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, from, to); }
  void empty_input() { ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

using Clock = std::chrono::steady_clock;

/// Milliseconds up to the deadline as poll takes them: -1 without one.
int left_ms(const std::optional<Clock::time_point>& deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(0, left));
}

/// Reads both until both are at their end; a stream that grows past `max_bytes` is closed, which ends its writer by
/// SIGPIPE. False when the deadline came first.
bool drain(PipeEnd& out_end, std::string& out, PipeEnd& error_end, std::string& error, std::size_t max_bytes,
           const std::optional<Clock::time_point>& deadline) {
  std::array<char, 65536> buffer;
  while (out_end.get() >= 0 || error_end.get() >= 0) {
    std::array<pollfd, 2> wanted{{{out_end.get(), POLLIN, 0}, {error_end.get(), POLLIN, 0}}};
    const int ready = ::poll(wanted.data(), wanted.size(), left_ms(deadline));
    if (deadline && Clock::now() >= *deadline) return false;
    if (ready < 0) continue;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].revents == 0) continue;
      auto& end = i == 0 ? out_end : error_end;
      auto& text = i == 0 ? out : error;
      const auto count = ::read(wanted[i].fd, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
      if (count <= 0 || text.size() > max_bytes) end.reset();
    }
  }
  return true;
}

}  // namespace

std::string CapturedCommand::problem() const {
  auto text = error;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const auto line = text.rfind('\n');
  if (line != std::string::npos) text.erase(0, line + 1);
  return text.empty() ? "exited with " + std::to_string(exit_code) : text;
}

CapturedCommand run_captured(const std::vector<std::string>& argv, std::size_t max_bytes,
                             std::optional<std::chrono::milliseconds> limit) {
  CapturedCommand result;
  auto words = argv;
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  auto out_pipe = make_pipe();
  auto error_pipe = make_pipe();
  Actions actions;
  actions.empty_input();
  actions.redirect(out_pipe.write.get(), STDOUT_FILENO);
  actions.redirect(error_pipe.write.get(), STDERR_FILENO);
  pid_t pid = 0;
  if (const int error = ::posix_spawnp(&pid, pointers[0], actions.get(), nullptr, pointers.data(), environ)) {
    result.error = "cannot start " + argv.front() + ": " + std::strerror(error);
    return result;
  }
  out_pipe.write.reset();
  error_pipe.write.reset();
  const auto deadline = limit ? std::optional(Clock::now() + *limit) : std::nullopt;
  if (!drain(out_pipe.read, result.out, error_pipe.read, result.error, max_bytes, deadline)) {
    ::kill(pid, SIGKILL);
    result.error +=
        "\nno end after " + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(*limit).count()) + " s";
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace stepgauge::machine
