#pragma once
// Timelines written by hand for the tests.
#include <algorithm>
#include <cstdint>
#include <string>

#include "trace/classify.hpp"
#include "trace/timeline.hpp"

namespace stepgauge::trace::test {

inline constexpr std::int64_t us = 1'000;
inline constexpr std::int64_t ms = 1'000'000;

inline std::uint32_t name_index(RankTimeline& timeline, const std::string& name) {
  const auto found = std::find(timeline.names.begin(), timeline.names.end(), name);
  if (found != timeline.names.end()) return static_cast<std::uint32_t>(found - timeline.names.begin());
  timeline.names.push_back(name);
  return static_cast<std::uint32_t>(timeline.names.size() - 1);
}

/// Adds an activity at the end, classified by its name.
inline Activity& add(RankTimeline& timeline, Interval time, const std::string& name, std::int32_t stream = 7,
                     ActivityKind kind = ActivityKind::kernel) {
  Activity activity;
  activity.time = time;
  activity.name = name_index(timeline, name);
  activity.stream = stream;
  activity.kind = kind;
  activity.type = classify(kind, name);
  return timeline.activities.emplace_back(activity);
}

inline void add_step(RankTimeline& timeline, Interval time) {
  timeline.steps.push_back({time, "ProfilerStep#" + std::to_string(timeline.steps.size())});
}

inline void add_call(RankTimeline& timeline, Interval time, const std::string& name, std::uint32_t correlation,
                     CallKind kind = CallKind::runtime, std::int32_t thread = 1) {
  timeline.calls.push_back({time, name_index(timeline, name), thread, kind, correlation});
}

inline void sort_activities(RankTimeline& timeline) {
  std::stable_sort(timeline.activities.begin(), timeline.activities.end(), [](const Activity& a, const Activity& b) {
    return a.time.begin != b.time.begin ? a.time.begin < b.time.begin : a.time.end < b.time.end;
  });
}

}  // namespace stepgauge::trace::test
