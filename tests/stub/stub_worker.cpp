#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "stub_caches.hpp"
#include "stub_misbehave.hpp"
#include "stub_options.hpp"
#include "stub_record.hpp"
#include "stub_trace.hpp"

namespace stepgauge::stub {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) throw std::invalid_argument(std::string(name) + " is not set: this is a worker of stepgauge");
  return value;
}

class ProgressChannel {
 public:
  explicit ProgressChannel(const Options& options) : options_(options) {}

  void phase(const std::string& name) const {
    line("phase " + name);
    if (name == options_.stall_phase) std::this_thread::sleep_for(std::chrono::duration<double>(options_.stall_s));
  }
  void step(std::int64_t index) const { line(fmt::format("step {}", index)); }

 private:
  void line(std::string text) const {
    text += '\n';
    [[maybe_unused]] const auto written = ::write(fd_, text.data(), text.size());
  }
  static int open_channel() {
    const char* fifo = std::getenv("STEPGAUGE_PROGRESS_FIFO");
    if (fifo == nullptr) return std::stoi(variable("STEPGAUGE_PROGRESS_FD"));
    return ::open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  }
  const Options& options_;
  int fd_ = open_channel();
};

void require_ok(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string("rendezvous: ") + what + " failed");
}

sockaddr_in rendezvous_address(const std::string& host) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(variable("MASTER_PORT"))));
  require_ok(::inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1, "address");
  return address;
}

/// The socket that the launcher opened; where none came in, one at the port that it holds, as TCPStore opens it.
int listening_socket() {
  if (const char* inherited = std::getenv("STEPGAUGE_STORE_FD")) return std::stoi(inherited);
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  const int reuse = 1;
  const auto address = rendezvous_address("0.0.0.0");
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  require_ok(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "bind");
  require_ok(::listen(listener, SOMAXCONN) == 0, "listen");
  return listener;
}

/// Every other rank sends its number to rank 0.
void meet(int rank, int ranks) {
  if (rank == 0) {
    const int listener = listening_socket();
    for (int i = 1; i < ranks; ++i) {
      const int peer = ::accept(listener, nullptr, nullptr);
      char number = 0;
      require_ok(peer >= 0 && ::read(peer, &number, 1) == 1, "accept");
      ::close(peer);
    }
    return;
  }
  const auto address = rendezvous_address(variable("MASTER_ADDR"));
  int connection = -1;
  const int most_tries = std::getenv("STEPGAUGE_PROGRESS_FIFO") == nullptr ? 1 : 1000;
  for (int tries = 1; connection < 0; ++tries) {  // rank 0 may be later where it opens the socket itself
    connection = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) break;
    ::close(connection);
    connection = -1;
    require_ok(tries < most_tries, "connect");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const char number = static_cast<char>(rank);
  require_ok(::write(connection, &number, 1) == 1, "write");
  ::close(connection);
}

/// The mode of this rank: the cell's planted fault, else --mode where it applies.
std::string mode_of(const Options& options, int rank) {
  auto mode = options.only_rank && *options.only_rank != rank ? options.others : options.mode;
  if (!options.once.empty() && mode != "ok") {
    if (std::filesystem::exists(options.once)) return "ok";
    write_text_file(options.once, "");
  }
  if (!is_mode(mode)) throw std::invalid_argument("unknown mode " + mode);
  return mode;
}

void apply_fault(const Cell& cell, int rank, std::int64_t step) {
  const auto& fault = cell.perturb.fault;
  if (!fault || fault->rank != rank || fault->step != step) return;
  if (fault->kind == "kill") ::raise(SIGKILL);
  if (fault->kind == "throw") throw std::runtime_error("the planted fault");
  while (fault->kind == "stop") ::pause();
}

int run(const std::vector<std::string>& arguments) {
  const auto path = variable("STEPGAUGE_CELL");
  const auto cell = cell_from_json(parse_json(read_text_file(path), path), path);
  const int launch = std::stoi(variable("STEPGAUGE_LAUNCH"));
  const int rank = std::stoi(variable("RANK"));
  auto options = parse_options(arguments, cell, launch);
  const auto mode = mode_of(options, rank);
  const std::int64_t stop_at = options.at_step + (options.only_rank && *options.only_rank != rank ? 1 : 0);

  const ProgressChannel progress(options);
  progress.phase("spawn");
  progress.phase("runtime");
  if (cell.ddp.ranks > 1) progress.phase("rendezvous");
  if (options.rendezvous && cell.ddp.ranks > 1) meet(rank, cell.ddp.ranks);
  progress.phase("build");
  progress.phase("wrap");
  if (is_python_mode(cell.compile)) progress.phase("compile");
  const auto refusal = check_caches(cell);
  progress.phase("first_step");
  bool measuring = false;
  auto record = make_record(options, cell, launch, rank, [&](std::int64_t step, double ms, bool measured) {
    apply_fault(cell, rank, step);
    if (step == 1) progress.phase("warmup");
    if (measured && !measuring) progress.phase("measure");
    measuring = measured;
    if (step <= options.at_step + 1 || step % 100 == 0 || options.realtime) progress.step(step);
    if (options.realtime) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
    if (step == stop_at) misbehave_in_loop(mode, options);
  });
  leave_inside(options, cell, rank, record);
  if (cell.measure.parity_steps > 0) progress.phase("verify");
  progress.phase("finish");
  misbehave_before_record(mode, options);
  if (!refusal.empty()) {
    record.status = Status::ineffective;
    record.reason = refusal;
  } else if (mode == "ok") {
    fill_caches(cell);
  }
  return leave_record(mode, std::move(record), variable("STEPGAUGE_RECORD"));
}

}  // namespace
}  // namespace stepgauge::stub

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  if (!arguments.empty() && arguments.front() == "--help") {
    fmt::print("{}", stepgauge::stub::help_text());
    return 0;
  }
  try {
    return stepgauge::stub::run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "stub-worker: {}\n", error.what());
    return 2;
  }
}
