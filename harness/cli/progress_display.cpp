#include "cli/progress_display.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "contract/clock.hpp"
#include "report/text.hpp"

namespace stepgauge::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

}  // namespace

ProgressDisplay::ProgressDisplay(std::size_t total_launches, double estimated_s, bool quiet)
    : total_(total_launches),
      estimated_s_(estimated_s),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      begin_(Clock::now()) {}

void ProgressDisplay::set_label(std::string label) {
  label_ = label.empty() ? "" : std::move(label) + " ";
}

void ProgressDisplay::start(const Cell& cell, int launch, const std::string& purpose) {
  cell_ = report::printable(cell.id);
  launch_ = launch;
  purpose_ = purpose.empty() ? "" : purpose + " ";
  shown_ = {};
}

void ProgressDisplay::update(const launch::Progress& progress) {
  if (quiet_ || !terminal_ || seconds_since(shown_) < 0.1) return;
  shown_ = Clock::now();
  const auto step = progress.step ? fmt::format(" step {}", *progress.step) : "";
  show(fmt::format("[{}/{}] {} {}launch {} {}{}{} {:.0f} s, {} left", done_ + 1, total_, cell_, label_, launch_,
                   purpose_, report::printable(progress.phase), step, progress.elapsed_s, time_left()));
}

void ProgressDisplay::finish(const LaunchRecord& record, bool again) {
  const auto number = done_ + 1;
  if (!again) ++done_;
  if (quiet_) return;
  std::string line =
      fmt::format("[{}/{}] {} {}launch {}: {}", number, total_, cell_, label_, record.launch, to_string(record.status));
  const auto throughput = record.metrics.find("throughput");
  if (record.status == Status::ok && throughput != record.metrics.end() && throughput->second.value) {
    line += fmt::format(", {} {}", report::four_digits(*throughput->second.value), throughput->second.unit);
  }
  if (!record.reason.empty()) line += ": " + report::printable(record.reason);
  if (again) line += "; making it again";
  line += fmt::format(" ({:.1f} s, {} left)", record.duration_s, time_left());
  if (terminal_) show("");
  fmt::print(stderr, "{}\n", line);
}

std::string ProgressDisplay::time_left() const {
  const double spent = seconds_since(begin_);
  double left = std::max(0.0, estimated_s_ - spent);
  if (done_ > 0) left = spent / static_cast<double>(done_) * static_cast<double>(total_ - done_);
  return left < 90 ? fmt::format("{:.0f} s", left) : fmt::format("{:.0f} min", left / 60);
}

void ProgressDisplay::show(const std::string& line) {
  fmt::print(stderr, "\r\033[K{}", line.substr(0, terminal_width() - 1));
  std::fflush(stderr);
}

}  // namespace stepgauge::cli
