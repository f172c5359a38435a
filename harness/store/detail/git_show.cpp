#include "store/detail/git_show.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "contract/json_io.hpp"
#include "store/detail/file.hpp"

namespace stepgauge::store::detail {
namespace {

constexpr std::size_t max_bytes = std::size_t{256} << 20;

struct Pipe {
  File read, write;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_errno("git", "cannot make a pipe");
  return {File(ends[0]), File(ends[1])};
}

/// posix_spawn file actions, destroyed with the scope.
class Actions {
 public:
  Actions() { ::posix_spawn_file_actions_init(&actions_); }
  ~Actions() { ::posix_spawn_file_actions_destroy(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  void redirect(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, from, to); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

/// A started child; waited for when it goes out of scope.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() { wait(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  int wait() noexcept {
    while (pid_ > 0 && ::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status_;
  }

 private:
  pid_t pid_;
  int status_ = 0;
};

/// Reads both until both are at their end; false when `out` grows too long.
bool drain(File& out_end, std::string& out, File& error_end, std::string& error) {
  std::array<char, 65536> buffer;
  while (out_end.get() >= 0 || error_end.get() >= 0) {
    std::array<pollfd, 2> wanted{{{out_end.get(), POLLIN, 0}, {error_end.get(), POLLIN, 0}}};
    if (::poll(wanted.data(), wanted.size(), -1) < 0 && errno != EINTR) throw_errno("git", "cannot poll");
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].revents == 0) continue;
      const auto count = ::read(wanted[i].fd, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        (i == 0 ? out_end : error_end).reset();
      } else {
        (i == 0 ? out : error).append(buffer.data(), static_cast<std::size_t>(count));
      }
      if (out.size() > max_bytes) return false;
      if (error.size() > 4096) error.resize(4096);
    }
  }
  return true;
}

}  // namespace

std::string git_show(const std::string& revision_and_path) {
  if (revision_and_path.empty() || revision_and_path.front() == '-') {
    throw ContractError(fmt::format("\"{}\" is no git revision and path", revision_and_path));
  }
  auto out_pipe = make_pipe();
  auto error_pipe = make_pipe();
  Actions actions;
  actions.redirect(out_pipe.write.get(), STDOUT_FILENO);
  actions.redirect(error_pipe.write.get(), STDERR_FILENO);
  std::array<std::string, 3> words{"git", "show", revision_and_path};
  std::array<char*, 4> argv{words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t pid = 0;
  if (const int error = ::posix_spawnp(&pid, "git", actions.get(), nullptr, argv.data(), environ)) {
    throw ContractError(fmt::format("{}: cannot start git: {}", revision_and_path, std::strerror(error)));
  }
  Child child(pid);
  out_pipe.write.reset();
  error_pipe.write.reset();
  std::string out, error;
  if (!drain(out_pipe.read, out, error_pipe.read, error)) {
    out_pipe.read.reset();  // git ends by SIGPIPE
    error_pipe.read.reset();
    throw ContractError(fmt::format("{}: more than {} MiB", revision_and_path, max_bytes >> 20));
  }
  const int status = child.wait();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    while (!error.empty() && error.back() == '\n') error.pop_back();
    throw ContractError(fmt::format("{}: git show failed: {}", revision_and_path, error));
  }
  return out;
}

}  // namespace stepgauge::store::detail
