#include "trace/detail/traced_work.hpp"

#include <algorithm>
#include <unordered_map>

namespace stepgauge::trace::detail {
namespace {

/// Operators of one thread that have begun and not ended, the outermost first.
using Open = std::vector<std::size_t>;

void enter(const std::vector<Activity>& activities, std::size_t i, Open& open, std::vector<std::int64_t>& own) {
  const auto& time = activities[i].time;
  while (!open.empty() && activities[open.back()].time.end <= time.begin) open.pop_back();
  if (!open.empty()) own[open.back()] -= std::min(time.end, activities[open.back()].time.end) - time.begin;
  open.push_back(i);
}

}  // namespace

std::vector<std::int64_t> own_times(const RankTimeline& timeline) {
  const auto& activities = timeline.activities;
  std::vector<std::int64_t> own;
  own.reserve(activities.size());
  for (const auto& activity : activities) own.push_back(activity.time.end - activity.time.begin);
  if (!timeline.host_time) return own;
  std::unordered_map<std::int32_t, Open> threads;
  for (std::size_t begin = 0; begin < activities.size();) {
    auto end = begin;
    while (end < activities.size() && activities[end].time.begin == activities[begin].time.begin) ++end;
    // Of those that begin together the longest encloses the others; it stands last.
    for (auto i = end; i-- > begin;) {
      if (activities[i].kind == ActivityKind::host_op) enter(activities, i, threads[activities[i].stream], own);
    }
    begin = end;
  }
  return own;
}

}  // namespace stepgauge::trace::detail
