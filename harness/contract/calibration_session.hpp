#pragma once
// What one A/A session on a machine gave: every launch value of every cell. Made by store, judged by verdict.
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "contract/json_io.hpp"

namespace stepgauge {

/// The steady steps of a launch, of the slowest rank each.
struct CalibrationSteps {
  double variance = 0;    ///< sample variance / mean^2: of the relative step time
  std::size_t count = 0;  ///< at least 3
  double inflation = 1;   ///< of the variance of their mean, by autocorrelation; above 0
};

struct CalibrationLaunch {
  int launch = 0;
  std::string started_at;  ///< UTC, ISO 8601
  double duration_s = 0;
  std::map<std::string, double> values;  ///< metric -> value; metrics without one are left out
  std::optional<CalibrationSteps> steps{};
};

struct CalibrationCell {
  std::string id, hash;
  std::map<std::string, std::size_t> statuses;  ///< status -> launches; empty: none was made
  std::map<std::string, std::string> units;     ///< of the metrics in `launches`
  std::vector<CalibrationLaunch> launches;      ///< the ok ones, in order of launch
};

/// Launches of one suite on one machine, made round-robin over its cells in one go.
struct CalibrationSession {
  std::string session;  ///< id of its run (store::run_id)
  std::string suite;
  std::string measured_at, added_at;  ///< UTC, ISO 8601
  std::string commit;                 ///< empty: not known
  std::string source;                 ///< run folder
  std::vector<std::string> command;
  Json fingerprint = Json::object();
  std::vector<CalibrationCell> cells;
};

}  // namespace stepgauge
