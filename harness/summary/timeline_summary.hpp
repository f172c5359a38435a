#pragma once
// From the ranks' traced passes to metrics: the breakdown of docs/metrics.md, or the reason why there is none.
#include <map>
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "contract/record.hpp"
#include "trace/analysis.hpp"

namespace stepgauge::summary {

/// Above this trace_overhead the host could not launch as fast as the device worked: idle and stall are the tracer's
/// too.
constexpr double tracer_slows_above = 1.1;

struct TimelineSummary {
  std::map<std::string, double> metrics;      ///< in the units of the catalogue
  std::map<std::string, std::string> absent;  ///< metric -> reason, for single ones that do not apply
  std::string why_none;                       ///< not empty: no metric of the timeline can be had
  std::string note;                           ///< not empty: what a reader of the ratios has to know
  Json detail = Json::object();               ///< the launch record's "timeline"
};

/// Names of the metrics that come from the traced pass.
const std::vector<std::string>& timeline_metrics();

/// `traces`: of trace::analyse. `steady_ms`: the untraced steady steps of the slowest rank; the traced steps' median
/// over theirs is trace_overhead.
TimelineSummary summarise_timelines(const trace::LaunchTraces& traces, const std::vector<RankRecord>& ranks,
                                    const std::vector<double>& steady_ms);

}  // namespace stepgauge::summary
