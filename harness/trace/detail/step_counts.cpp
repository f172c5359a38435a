#include "trace/detail/step_counts.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace stepgauge::trace::detail {
namespace {

/// Step in whose window a time lies, the last one that began where windows overlap. Times that are asked for in order
/// cost next to nothing.
class StepFinder {
 public:
  explicit StepFinder(const std::vector<Span>& steps) : steps_(steps) {}

  /// Index of the step, -1: outside of all.
  int at(std::int64_t time) {
    if (steps_.empty()) return -1;
    const bool same = inside(last_, time) && (last_ + 1 == steps_.size() || time < steps_[last_ + 1].time.begin);
    if (!same) {
      const auto after = std::upper_bound(steps_.begin(), steps_.end(), time,
                                          [](std::int64_t t, const Span& step) { return t < step.time.begin; });
      last_ = after == steps_.begin() ? 0 : static_cast<std::size_t>(after - steps_.begin()) - 1;
    }
    return inside(last_, time) ? static_cast<int>(last_) : -1;
  }

 private:
  bool inside(std::size_t step, std::int64_t time) const {
    return steps_[step].time.begin <= time && time < steps_[step].time.end;
  }

  const std::vector<Span>& steps_;
  std::size_t last_ = 0;
};

/// Which operators of a thread lie in none that came before. Ask in order of begins, the longest first of those that
/// begin together.
class Outermost {
 public:
  bool add(const Activity& activity) {
    auto& covered = covered_.try_emplace(activity.stream, std::numeric_limits<std::int64_t>::min()).first->second;
    if (activity.time.end <= covered) return false;
    covered = activity.time.end;
    return true;
  }

 private:
  std::unordered_map<std::int32_t, std::int64_t> covered_;
};

void count_record(const Activity& activity, Breakdown& step) {
  if (activity.kind == ActivityKind::kernel) ++step.kernels;
  if (activity.kind == ActivityKind::memcpy || activity.kind == ActivityKind::memset) ++step.copies;
  step.duration_sum += std::max<std::int64_t>(0, activity.time.end - activity.time.begin);
}

void count_records(const RankTimeline& timeline, std::vector<Breakdown>& steps) {
  StepFinder finder(timeline.steps);
  for (const auto& activity : timeline.activities)
    if (const int step = finder.at(activity.time.begin); step >= 0) count_record(activity, steps[step]);
}

/// Calls use(activity) for each operator in order of begins, enclosing ones before those inside them.
template <typename Use>
void for_operators(const std::vector<Activity>& activities, Use use) {
  for (auto begin = activities.begin(); begin != activities.end();) {
    auto end = begin;
    while (end != activities.end() && end->time.begin == begin->time.begin) ++end;
    for (auto at = end; at != begin;)
      if ((--at)->kind == ActivityKind::host_op) use(*at);
    begin = end;
  }
}

void count_operators(const RankTimeline& timeline, std::vector<Breakdown>& steps) {
  StepFinder finder(timeline.steps);
  Outermost operators, copies;
  for_operators(timeline.activities, [&](const Activity& activity) {
    const int step = finder.at(activity.time.begin);
    const bool outermost = operators.add(activity);
    const bool outermost_copy = activity.type == ActivityClass::copy && copies.add(activity);
    if (step < 0) return;
    steps[step].kernels += outermost;
    steps[step].copies += outermost_copy;
  });
}

enum class Launch : std::uint8_t { none, work, graph };

Launch launch_kind(std::string_view call) {
  // By prefix: versions (cudaMemcpyAsync_v3020), cooperative, Ex and 2D forms. cudaLaunchHostFunc launches no work.
  static constexpr std::array<std::string_view, 8> work{
      "cudaLaunchKernel", "cudaLaunchCooperative", "cudaMemcpy", "cudaMemset",
      "cuLaunchKernel",   "cuLaunchCooperative",   "cuMemcpy",   "cuMemset"};
  const auto starts = [call](std::string_view prefix) { return call.starts_with(prefix); };
  if (is_graph_launch(call)) return Launch::graph;
  return std::any_of(work.begin(), work.end(), starts) ? Launch::work : Launch::none;
}

/// Step of the first activity of each correlation; activities outside of all steps are left out.
class StepsByCorrelation {
 public:
  explicit StepsByCorrelation(const RankTimeline& timeline) {
    StepFinder finder(timeline.steps);
    for (const auto& activity : timeline.activities)
      if (activity.correlation != 0) entries_.emplace_back(activity.correlation, finder.at(activity.time.begin));
    std::stable_sort(entries_.begin(), entries_.end(), [](auto& a, auto& b) { return a.first < b.first; });
  }

  int at(std::uint32_t correlation) const {
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), correlation,
                                        [](auto& entry, std::uint32_t wanted) { return entry.first < wanted; });
    return found != entries_.end() && found->first == correlation ? found->second : -1;
  }

 private:
  std::vector<std::pair<std::uint32_t, int>> entries_;
};

/// A runtime call and the driver call inside it are one launch, whichever of them is joined to the activity.
class NestedCalls {
 public:
  /// Whether the call belongs to a launch of its thread that has been counted already.
  bool counted(const HostCall& call) const {
    const auto outer = counted_.find(call.thread);
    return outer != counted_.end() && outer->second->kind != call.kind && nested(outer->second->time, call.time);
  }
  void count(const HostCall& call) { counted_[call.thread] = &call; }

 private:
  static bool nested(const Interval& a, const Interval& b) {
    return (a.begin <= b.begin && b.end <= a.end) || (b.begin <= a.begin && a.end <= b.end);
  }

  std::unordered_map<std::int32_t, const HostCall*> counted_;
};

void count_launches(const RankTimeline& timeline, std::vector<Breakdown>& steps) {
  std::vector<Launch> kinds;
  for (const auto& name : timeline.names) kinds.push_back(launch_kind(name));
  const StepsByCorrelation correlated(timeline);
  NestedCalls nested;
  for (const auto& call : timeline.calls) {
    const auto kind = call.kind == CallKind::op ? Launch::none : kinds.at(call.name);
    if (kind == Launch::none || nested.counted(call)) continue;
    const int step = correlated.at(call.correlation);
    if (step < 0) continue;
    nested.count(call);
    ++steps[step].launches;
    steps[step].graph_launches += kind == Launch::graph;
  }
}

void count_collectives(const RankTimeline& timeline, std::vector<Breakdown>& steps) {
  StepFinder finder(timeline.steps);
  for (const auto& collective : timeline.collectives) {
    const bool on_device = collective.device.end > collective.device.begin;
    const int step = finder.at(on_device ? collective.device.begin : collective.host.begin);
    if (step < 0) continue;
    ++steps[step].collectives;
    steps[step].collective_bytes += collective.bytes;
  }
}

}  // namespace

void count_what_started(const RankTimeline& timeline, std::vector<Breakdown>& steps) {
  count_records(timeline, steps);
  if (timeline.host_time) count_operators(timeline, steps);
  count_launches(timeline, steps);
  count_collectives(timeline, steps);
}

}  // namespace stepgauge::trace::detail
