#pragma once
// How long a suite will take: from the launches in this machine's calibration or baseline of the suite where there are
// any, else a stated guess: a launch of the device, and what its mode takes to start. The launch that fills the caches
// of a warm cell counts once a cell, where the suite has no cold twin that does it on the way.
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/suite_options.hpp"
#include "contract/calibration_session.hpp"

namespace stepgauge::cli {

class DurationGuess {
 public:
  explicit DurationGuess(const Plan& plan, const std::filesystem::path& baselines = "results/baselines");

  /// The cell has launches in this machine's calibration or baseline; else launch_seconds() is the stated guess.
  bool measured(const Cell& cell) const { return seconds_.count(cell.id) != 0; }
  /// Seconds of one launch.
  double launch_seconds(const Cell& cell) const;
  /// Seconds of all launches of the cell, and of the one that fills its caches.
  double cell_seconds(const Cell& cell) const;
  double total_minutes(const std::vector<Cell>& cells) const;
  /// "from the baseline of ..." or "guess: no baseline here", for people.
  const std::string& source() const { return source_; }

 private:
  void read_baseline(const std::filesystem::path& path);
  void read_calibrations(const std::vector<CalibrationSession>& sessions);

  std::map<std::string, double> seconds_;  ///< cell id -> mean of its launches
  std::set<std::string> filled_apart_;     ///< ids of warm cells without a cold twin
  std::string source_;
};

/// "45 s", "12 min", "3.5 h".
std::string duration_text(double seconds);

}  // namespace stepgauge::cli
