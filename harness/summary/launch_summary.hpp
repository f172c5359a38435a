#pragma once
// From the rank records of one launch to its launch record: the definitions of docs/metrics.md, applied once, in one
// place.
#include <optional>
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "contract/record.hpp"
#include "summary/health_rules.hpp"
#include "summary/nccl_log.hpp"
#include "trace/timeline.hpp"

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
  std::optional<HealthSamples> health{};  ///< absent: nobody watched the launch
  LaunchSpans spans{};
  std::vector<trace::RankTimeline> timelines{};  ///< of the ranks that left a readable trace
  std::string trace_error{};                     ///< why a trace that was left cannot be read
  std::vector<NcclLog> nccl_logs{};              ///< one a rank that left one
};

/// The launch record: per step the slowest rank, the steady window over that series, then every metric of the catalogue
/// as a number or absent with its reason. A launch that was ok but has no steady window becomes `unsteady`; one whose
/// ranks disagree about the number of steps becomes `crashed`. One that is ok or unsteady, but disturbed by the rules
/// of health_rules.hpp, becomes `disturbed`; a setting that did not take makes an ok launch `ineffective`; one that
/// compiled or captured behind its warm-up becomes `unsteady`, one that disagrees with its reference `incorrect`.
LaunchRecord summarise(const Cell& cell, const LaunchFacts& facts);

}  // namespace stepgauge::summary
