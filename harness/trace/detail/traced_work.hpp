#pragma once
// The activities of the traced steps and the time that each of them takes for itself.
#include <vector>

#include "trace/timeline.hpp"

namespace stepgauge::trace::detail {

/// Of each activity, ns: its duration; of an operator less the operators that it calls, so that sums count nothing
/// twice.
std::vector<std::int64_t> own_times(const RankTimeline& timeline);

/// Calls use(activity, own time in ns) for each activity that starts in a step.
template <typename Use>
void for_traced(const RankTimeline& timeline, Use use) {
  std::vector<Interval> steps;
  for (const auto& step : timeline.steps) steps.push_back(step.time);
  const auto windows = unite(std::move(steps));
  const auto own = own_times(timeline);
  auto window = windows.begin();
  for (std::size_t i = 0; i < timeline.activities.size(); ++i) {
    const auto& activity = timeline.activities[i];
    while (window != windows.end() && window->end <= activity.time.begin) ++window;
    if (window == windows.end()) return;
    if (window->begin <= activity.time.begin) use(activity, own[i]);
  }
}

}  // namespace stepgauge::trace::detail
