#pragma once
// The stretches of the steps in which nothing runs.
#include <vector>

#include "trace/timeline.hpp"

namespace stepgauge::trace::detail {

struct IdleGap {
  Interval time;
  const Activity* next = nullptr;  ///< what ends it; nullptr: the end of the traced steps does
};

/// In order. Steps that touch are one stretch: a gap that lasts from one into the next is not cut in two.
std::vector<IdleGap> idle_gaps(const RankTimeline& timeline);

}  // namespace stepgauge::trace::detail
