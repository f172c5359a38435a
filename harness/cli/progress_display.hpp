#pragma once
// What a person sees while a run goes on: one line that changes on a terminal, one plain line a launch elsewhere.
#include <chrono>
#include <cstddef>
#include <string>

#include "contract/record.hpp"
#include "launch/launcher.hpp"

namespace stepgauge::cli {

class ProgressDisplay {
 public:
  /// `quiet` shows nothing. Writes to standard error.
  ProgressDisplay(std::size_t total_launches, double estimated_s, bool quiet);

  /// There will be that many launches more than was said, and so many seconds.
  void add_launches(std::size_t count, double seconds = 0) {
    total_ += count;
    estimated_s_ += seconds;
  }
  /// Stands before the launch's number from now on, e.g. the arm of a gate.
  void set_label(std::string label);
  /// `purpose` stands before what the ranks tell, e.g. "fills caches:".
  void start(const Cell& cell, int launch, const std::string& purpose = "");
  void update(const launch::Progress& progress);
  /// `again`: the launch will be made once more.
  void finish(const LaunchRecord& record, bool again);

 private:
  std::string time_left() const;
  void show(const std::string& line);

  std::size_t total_, done_ = 0;
  double estimated_s_;
  bool quiet_, terminal_;
  std::string cell_, label_, purpose_;
  int launch_ = 0;
  std::chrono::steady_clock::time_point begin_, shown_{};
};

}  // namespace stepgauge::cli
