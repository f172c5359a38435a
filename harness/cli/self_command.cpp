#include "cli/self_command.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>

#include "machine/unique_fd.hpp"

namespace stepgauge::cli {
namespace {

constexpr int not_started = 127;

[[noreturn]] void become(char* const* arguments, int out, bool quiet, pid_t parent) {
  // Terminal and process group are shared: what the user interrupts reaches both.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(not_started);
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  ::dup2(out, STDOUT_FILENO);
  if (quiet) ::dup2(out, STDERR_FILENO);
  ::execv("/proc/self/exe", arguments);  // also when a new build replaced the file meanwhile
  ::_exit(not_started);
}

}  // namespace

std::filesystem::path self_path() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

SelfCommand run_self(const std::vector<std::string>& arguments, const std::filesystem::path& out, bool quiet,
                     const InterruptWatch& interrupt) {
  std::vector<std::string> words{self_path().string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const machine::UniqueFd file(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) throw std::system_error(errno, std::generic_category(), out.string());
  const auto begin = std::chrono::steady_clock::now();
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) become(pointers.data(), file.get(), quiet, parent);
  int status = 0;
  for (bool told = false; ::waitpid(child, &status, 0) < 0;) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
    if (interrupt.interrupted() && !told) told = ::kill(child, SIGTERM) == 0;
  }
  SelfCommand result;
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_started)
    throw std::runtime_error("this program cannot be started again: " + words.front());
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace stepgauge::cli
