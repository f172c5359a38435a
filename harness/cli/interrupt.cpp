#include "cli/interrupt.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace stepgauge::cli {
namespace {

int pipe_ends[2] = {-1, -1};
volatile sig_atomic_t was_interrupted = 0;
struct sigaction previous_int, previous_term;

extern "C" void note_interrupt(int) {
  const int saved = errno;
  was_interrupted = 1;
  [[maybe_unused]] const auto written = ::write(pipe_ends[1], "i", 1);
  errno = saved;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  if (::pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  was_interrupted = 0;
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  ::sigaction(SIGINT, &action, &previous_int);
  ::sigaction(SIGTERM, &action, &previous_term);
}

InterruptWatch::~InterruptWatch() {
  ::sigaction(SIGINT, &previous_int, nullptr);
  ::sigaction(SIGTERM, &previous_term, nullptr);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

int InterruptWatch::fd() const {
  return pipe_ends[0];
}
bool InterruptWatch::interrupted() const {
  return was_interrupted != 0;
}

}  // namespace stepgauge::cli
