// Which records are impossible and which timelines cannot be trusted (breakdown.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "trace/breakdown.hpp"

namespace stepgauge::trace {
namespace {

constexpr std::int64_t clock_noise_ns = 1'000;
constexpr double marks_noise_ms = 0.05;
constexpr double marks_tolerance = 0.02;

bool empty(const Interval& time) {
  return time.end <= time.begin;
}

/// When the next work of each stream ends, asked from the last activity to the first. Not when it begins: with
/// programmatic dependent launch, which cuDNN uses, a kernel begins while the one before it still runs (25 us of
/// overlap were seen), but none ends before it. The nodes of one launch of a CUDA graph may run side by side on one
/// stream, so "next" is what follows the whole launch there.
class StreamSuccessors {
 public:
  std::int64_t next_end(const Activity& activity) const {
    const auto found = streams_.find(activity.stream);
    if (found == streams_.end()) return std::numeric_limits<std::int64_t>::max();
    const auto& stream = found->second;
    return same_graph_launch(activity, *stream.latest) ? stream.after_launch : stream.latest->time.end;
  }
  void add(const Activity& activity) {
    const auto next = next_end(activity);
    streams_[activity.stream] = {&activity, next};
  }

 private:
  struct Stream {
    const Activity* latest;
    std::int64_t after_launch;  ///< end of the first activity that is of another launch than `latest`
  };
  static bool same_graph_launch(const Activity& a, const Activity& b) {
    return a.graph_node != 0 && b.graph_node != 0 && a.correlation == b.correlation;
  }

  std::unordered_map<std::int32_t, Stream> streams_;
};

/// Operators nest and collectives overlap by nature; only work on a stream of the device runs one after another.
bool runs_in_stream_order(const Activity& activity) {
  return activity.kind != ActivityKind::host_op && activity.kind != ActivityKind::collective;
}

std::vector<bool> impossible(const std::vector<Activity>& activities) {
  std::vector<bool> out(activities.size());
  StreamSuccessors successors;
  for (std::size_t i = activities.size(); i-- > 0;) {
    const auto& activity = activities[i];
    out[i] = empty(activity.time);
    if (out[i] || !runs_in_stream_order(activity)) continue;
    const auto next = successors.next_end(activity);
    out[i] = activity.time.end > next && activity.time.end - next > clock_noise_ns;
    if (!out[i]) successors.add(activity);  // an impossible one says nothing about those before it
  }
  return out;
}

void check_steps(const RankTimeline& timeline, const RankBreakdown& breakdown, std::vector<std::string>& reasons) {
  const auto all = breakdown.steps.size();
  if (all == 0) {
    reasons.emplace_back("no step is marked");
    return;
  }
  const auto recorded = std::count_if(breakdown.steps.begin(), breakdown.steps.end(),
                                      [](const Breakdown& step) { return step.duration_sum > 0; });
  if (static_cast<std::size_t>(recorded) < all)
    reasons.push_back(
        fmt::format("{} of {} steps have {} records", recorded, all, timeline.host_time ? "operator" : "GPU"));
}

/// The marks of a step, or the work inside them, against the same step by device events.
bool contradicts(const Breakdown& step, double event_ms) {
  const double window_ms = static_cast<double>(step.window) / 1e6;
  const double busy_ms = static_cast<double>(step.window - step.idle) / 1e6;
  const double off_ms = std::abs(window_ms - event_ms);
  const bool marks_differ = off_ms > marks_tolerance * event_ms && off_ms > marks_noise_ms;
  return marks_differ || busy_ms > event_ms + marks_noise_ms;
}

void check_marks(const RankTimeline& timeline, const RankBreakdown& breakdown, std::vector<std::string>& reasons) {
  const auto& events = timeline.event_step_ms;
  const auto& steps = breakdown.steps;
  if (events.empty() || steps.empty()) return;
  if (events.size() != steps.size()) {
    reasons.push_back(fmt::format("{} steps are marked, {} were timed by device events", steps.size(), events.size()));
    return;
  }
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = steps.size(); i-- > 0;) {
    if (!contradicts(steps[i], events[i])) continue;
    first = i;
    ++wrong;
  }
  if (wrong == 0) return;
  reasons.push_back(
      fmt::format("{} of {} steps are not what device events say; the first is {}: {:.3f} ms by its marks, busy {:.3f} "
                  "ms, {:.3f} ms by "
                  "device events",
                  wrong, steps.size(), timeline.steps.at(first).name, static_cast<double>(steps[first].window) / 1e6,
                  static_cast<double>(steps[first].window - steps[first].idle) / 1e6, events[first]));
}

/// Files of others need not hold the process group's record: no communication at all is suspicious there by itself.
void check_communication(const RankTimeline& timeline, const RankBreakdown& breakdown,
                         std::vector<std::string>& reasons) {
  const bool expected = timeline.world_size >= 2 && (!timeline.collectives.empty() || timeline.foreign);
  if (breakdown.steps.empty() || !expected || breakdown.total.communication > 0) return;
  reasons.push_back(fmt::format(
      "no communication was seen in a world of {} ({} collectives were recorded): the names of its kernels are "
      "probably not known",
      timeline.world_size, timeline.collectives.size()));
}

}  // namespace

std::vector<std::string> unreliable_because(const RankTimeline& timeline, const RankBreakdown& breakdown,
                                            std::int64_t excluded) {
  std::vector<std::string> reasons;
  if (timeline.dropped > 0) reasons.push_back(fmt::format("the tracer lost {} records", timeline.dropped));
  check_steps(timeline, breakdown, reasons);
  const auto all = static_cast<std::int64_t>(timeline.activities.size()) + excluded;
  if (excluded * 1000 > all)
    reasons.push_back(
        fmt::format("{} of {} records are impossible (of no length, or running on after their stream's "
                    "next one has ended)",
                    excluded, all));
  check_marks(timeline, breakdown, reasons);
  check_communication(timeline, breakdown, reasons);
  return reasons;
}

std::int64_t sanitize(RankTimeline& timeline) {
  auto& activities = timeline.activities;
  const auto out = impossible(activities);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < activities.size(); ++i)
    if (!out[i]) activities[kept++] = activities[i];
  const auto excluded = activities.size() - kept;
  activities.resize(kept);
  return static_cast<std::int64_t>(excluded);
}

}  // namespace stepgauge::trace
