#pragma once
// Everything that the commands want to know about the traces of one launch, in the one right order of steps.
#include <optional>
#include <string>
#include <vector>

#include "trace/align.hpp"
#include "trace/breakdown.hpp"
#include "trace/timeline.hpp"

namespace stepgauge::trace {

struct LaunchTraces {
  std::string source;                              ///< folder or file
  std::vector<RankTimeline> ranks;                 ///< by rank, without impossible records, on the first rank's clock
  std::vector<RankBreakdown> breakdowns;           ///< of each
  std::vector<std::int64_t> excluded;              ///< of each: impossible records that were taken out
  std::vector<std::vector<std::string>> doubtful;  ///< of each: why it cannot be trusted; empty when it can
  std::optional<Alignment> alignment;              ///< what was added to the clocks; nullopt: nothing was

  bool reliable() const;
};

/// Sanitizes, aligns and breaks down the timelines of a launch.
LaunchTraces analyse(std::string source, std::vector<RankTimeline> ranks);

}  // namespace stepgauge::trace
