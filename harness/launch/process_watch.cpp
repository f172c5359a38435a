#include "launch/process_watch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

#include "launch/text.hpp"

namespace stepgauge::launch {
namespace {

constexpr std::size_t line_cap = 4096;
constexpr std::size_t phase_cap = 64;
constexpr std::size_t kept_phases = 64;  // a worker that tells phases without end fills no memory
constexpr std::size_t shown_lines = 20;

struct Pipe {
  machine::UniqueFd read_end, write_end;
};

/// `non_blocking_writer`: the progress channel; logs keep a blocking writer, as a terminal would be.
Pipe open_pipe(bool non_blocking_writer) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | (non_blocking_writer ? O_NONBLOCK : 0)) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot open a pipe");
  }
  Pipe pipe{machine::UniqueFd(ends[0]), machine::UniqueFd(ends[1])};
  ::fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

bool ProgressParser::feed(std::string_view bytes, double now_s) {
  bool changed = false;
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const auto piece = bytes.substr(0, newline);
    if (partial_.size() < line_cap) partial_ += piece.substr(0, line_cap - partial_.size());
    if (newline == std::string_view::npos) break;
    changed |= take_line(partial_, now_s);
    partial_.clear();
    bytes.remove_prefix(newline + 1);
  }
  return changed;
}

bool ProgressParser::take_line(std::string_view line, double now_s) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with("phase ")) {
    phase_ = printable(line.substr(6), phase_cap);
    if (phases_.size() < kept_phases) phases_.push_back({phase_, now_s});
    return true;
  }
  if (!line.starts_with("step ")) return false;
  line.remove_prefix(5);
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), step);
  if (error != std::errc{} || end != line.data() + line.size() || step < 0) return false;
  step_ = step;
  return true;
}

ProcessWatch::ProcessWatch(const std::string& name, const std::filesystem::path& folder) {
  for (auto* stream : {&out_, &err_}) {
    auto pipe = open_pipe(false);
    stream->read_end = std::move(pipe.read_end);
    stream->write_end = std::move(pipe.write_end);
    stream->name = name + (stream == &out_ ? ".out" : ".err");
    stream->sink = std::make_unique<LogSink>(folder / stream->name);
  }
  auto pipe = open_pipe(true);
  progress_read_ = std::move(pipe.read_end);
  progress_write_ = std::move(pipe.write_end);
}

void ProcessWatch::use_fifo(const std::filesystem::path& path) {
  std::filesystem::remove(path);
  if (::mkfifo(path.c_str(), 0600) != 0)
    throw std::system_error(errno, std::generic_category(), path.string() + ": cannot make the named pipe");
  fifo_ = path;
  // For writing as well: with no writer yet, or no longer, the pipe would look closed.
  progress_read_ = machine::UniqueFd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  progress_write_ = machine::UniqueFd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!progress_read_ || !progress_write_)
    throw std::system_error(errno, std::generic_category(), path.string() + ": cannot open the named pipe");
}

void ProcessWatch::connect(SpawnPlan& plan) const {
  plan.out = out_.write_end.get();
  plan.err = err_.write_end.get();
  plan.progress = progress_write_.get();
}

void ProcessWatch::start(const SpawnPlan& plan) {
  process_.emplace(plan);
  out_.write_end.reset();
  err_.write_end.reset();
  progress_write_.reset();
}

void ProcessWatch::add_poll(std::vector<pollfd>& polls) const {
  for (const auto* fd : {&out_.read_end, &err_.read_end, &progress_read_}) {
    if (*fd) polls.push_back({fd->get(), POLLIN, 0});
  }
  if (process_ && process_->running() && process_->pidfd() >= 0) polls.push_back({process_->pidfd(), POLLIN, 0});
}

bool ProcessWatch::drain(machine::UniqueFd& pipe, std::size_t max_bytes, double now_s, LogSink* sink) {
  thread_local std::array<char, 64u << 10> buffer;
  bool changed = false;
  while (pipe && max_bytes > 0) {
    const auto count = ::read(pipe.get(), buffer.data(), std::min(buffer.size(), max_bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      pipe.reset();
      break;
    }
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    if (running()) last_sign_s_ = now_s;
    max_bytes -= bytes.size();
    if (sink != nullptr) {
      sink->append(bytes);
    } else {
      changed |= progress_.feed(bytes, now_s);
    }
  }
  return changed;
}

bool ProcessWatch::read_pipes(double now_s, std::size_t max_bytes) {
  drain(out_.read_end, max_bytes, now_s, out_.sink.get());
  drain(err_.read_end, max_bytes, now_s, err_.sink.get());
  return drain(progress_read_, max_bytes, now_s, nullptr);
}

bool ProcessWatch::try_reap(double now_s) {
  if (!process_ || !process_->running()) return true;
  if (!process_->reap()) return false;
  ended_s_ = now_s;
  return true;
}

RankExit ProcessWatch::finish() {
  out_.sink->finish();
  err_.sink->finish();
  std::error_code ignored;
  if (!fifo_.empty()) std::filesystem::remove(fifo_, ignored);
  RankExit out;
  out.last_phase = progress_.phase();
  out.last_step = progress_.step();
  out.phases = progress_.phases();
  out.last_sign_s = last_sign_s_;
  out.ended_s = ended_s_;
  out.killed_by_harness = killed_by_harness_;
  out.out_bytes = out_.sink->total_bytes();
  out.err_bytes = err_.sink->total_bytes();
  out.dropped_bytes = out_.sink->dropped_bytes() + err_.sink->dropped_bytes();
  out.last_lines = last_lines((out.err_bytes > 0 ? err_ : out_).sink->tail(), shown_lines);
  if (!process_) return out;
  out.pid = process_->pid();
  out.exit_code = process_->exit_code();
  out.signal = process_->term_signal();
  out.user_s = seconds(process_->usage().ru_utime);
  out.system_s = seconds(process_->usage().ru_stime);
  out.max_rss_kib = process_->usage().ru_maxrss;
  out.voluntary_switches = process_->usage().ru_nvcsw;
  out.involuntary_switches = process_->usage().ru_nivcsw;
  out.minor_faults = process_->usage().ru_minflt;
  out.major_faults = process_->usage().ru_majflt;
  return out;
}

std::vector<std::string> ProcessWatch::log_errors() const {
  std::vector<std::string> out;
  for (const auto* stream : {&out_, &err_}) {
    if (const int error = stream->sink->write_error(); error != 0) {
      out.push_back(fmt::format("{} is not complete: {}", stream->name, std::strerror(error)));
    }
  }
  return out;
}

}  // namespace stepgauge::launch
