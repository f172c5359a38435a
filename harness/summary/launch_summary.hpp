#pragma once
// From the rank records of one launch to its launch record: the definitions of docs/metrics.md, applied once, in one
// place.
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "contract/record.hpp"

namespace stepgauge::summary {

/// What is known of a launch when it has ended.
struct LaunchFacts {
  int launch = 0, attempt = 1;
  Status status = Status::ok;  ///< as the launcher saw it
  std::string reason;
  std::string started_at;
  double duration_s = 0;
  std::vector<RankRecord> ranks;  ///< of the ranks that left one
  Json evidence = Json::object();
};

/// The launch record: per step the slowest rank, the steady window over that series, then every metric of the catalogue
/// as a number or absent with its reason. A launch that was ok but has no steady window becomes `unsteady`; one whose
/// ranks disagree about the number of steps becomes `crashed`.
LaunchRecord summarise(const Cell& cell, const LaunchFacts& facts);

}  // namespace stepgauge::summary
