#pragma once
// What started in each step: records, launches and collectives.
#include <vector>

#include "trace/breakdown.hpp"

namespace stepgauge::trace::detail {

/// Fills the counts, duration_sum and collective_bytes of `steps`, one for each step of the timeline.
void count_what_started(const RankTimeline& timeline, std::vector<Breakdown>& steps);

}  // namespace stepgauge::trace::detail
