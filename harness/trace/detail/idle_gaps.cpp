#include "trace/detail/idle_gaps.hpp"

#include <algorithm>
#include <limits>

namespace stepgauge::trace::detail {

std::vector<IdleGap> idle_gaps(const RankTimeline& timeline) {
  std::vector<Interval> windows;
  for (const auto& step : timeline.steps) windows.push_back(step.time);
  std::vector<IdleGap> out;
  auto next = timeline.activities.begin();
  const auto last = timeline.activities.end();
  auto busy_until = std::numeric_limits<std::int64_t>::min();
  for (const auto& window : unite(std::move(windows))) {
    auto at = window.begin;
    while (at < window.end) {
      if (next == last || next->time.begin >= window.end) {
        at = std::max(at, busy_until);
        if (at < window.end) out.push_back({{at, window.end}, nullptr});
        break;
      }
      at = std::max(at, busy_until);
      if (next->time.begin > at) out.push_back({{at, next->time.begin}, &*next});
      busy_until = std::max(busy_until, next->time.end);
      ++next;
    }
  }
  return out;
}

}  // namespace stepgauge::trace::detail
