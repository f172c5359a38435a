#pragma once
// Times the phases of a rank before its first step; each ends where the next begins.
#include <cstdint>
#include <map>
#include <string>

#include "contract/cell.hpp"
#include "worker/progress.hpp"

namespace stepgauge::worker {

class PhaseClock {
 public:
  /// Phase `spawn` begins at `start_ns` (CLOCK_MONOTONIC). `progress` is told each later phase; `perturb` may plant a
  /// sleep in one. Both outlive the clock.
  PhaseClock(Progress& progress, std::int64_t start_ns, const CellPerturb& perturb)
      : progress_(progress), perturb_(perturb), last_ns_(start_ns) {}

  void finish_spawn(std::int64_t at_ns) { close("spawn", at_ns); }
  void begin(const std::string& phase);
  void end();

  /// The phase that began last.
  const std::string& current() const { return current_; }
  /// Of the phases that ended.
  const std::map<std::string, double>& seconds() const { return seconds_; }

 private:
  void close(const std::string& phase, std::int64_t at_ns);

  Progress& progress_;
  const CellPerturb& perturb_;
  std::int64_t last_ns_;
  std::string current_ = "spawn";
  std::map<std::string, double> seconds_;
};

}  // namespace stepgauge::worker
