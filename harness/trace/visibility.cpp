#include "trace/visibility.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "trace/detail/call_index.hpp"
#include "trace/detail/cover.hpp"

namespace stepgauge::trace {
namespace {

constexpr const char* device_mark = "device mark";
constexpr const char* graph_mark = "graph mark";
constexpr const char* annotation = "user annotation";
constexpr const char* communication_kernel = "NCCL kernel";
constexpr const char* record = "collective record";

/// For a part of the step its marks, each with the number of steps that have it.
using Marks = std::map<std::string, std::map<std::string, std::size_t>>;

bool begins_in(const Interval& time, const Interval& step) {
  return time.begin >= step.begin && time.begin < step.end;
}

/// What one launch of a CUDA graph spans on the device.
std::vector<Interval> graph_extents(const RankTimeline& timeline) {
  std::map<std::uint32_t, Interval> by_launch;
  for (const auto& activity : timeline.activities) {
    if (activity.graph_node == 0) continue;
    auto& extent = by_launch.try_emplace(activity.correlation, activity.time).first->second;
    extent.begin = std::min(extent.begin, activity.time.begin);
    extent.end = std::max(extent.end, activity.time.end);
  }
  std::vector<Interval> out;
  for (const auto& [launch, extent] : by_launch) out.push_back(extent);
  return out;
}

/// A mark between two nodes of the same launch is a node itself.
bool in_graph(const Span& span, const std::vector<Interval>& extents) {
  const auto holds = [](const Interval& extent, std::int64_t at) { return extent.begin < at && at < extent.end; };
  return std::any_of(extents.begin(), extents.end(), [&](const Interval& extent) {
    return holds(extent, span.time.begin) || holds(extent, span.time.end);
  });
}

class RankMarks {
 public:
  explicit RankMarks(const RankTimeline& timeline)
      : timeline_(timeline),
        launches_(timeline.calls),
        host_phases_(timeline.phases),
        extents_(graph_extents(timeline)) {}

  Marks make() {
    for (const auto& step : timeline_.steps) {
      phases(step.time);
      communication(step.time);
    }
    return std::move(marks_);
  }

 private:
  /// Once a step, however often the mark is there.
  void phases(const Interval& step) {
    std::map<std::string, const char*> on_device;
    for (const auto& span : timeline_.device_phases) {
      if (begins_in(span.time, step)) on_device[span.name] = in_graph(span, extents_) ? graph_mark : device_mark;
    }
    for (const auto& [name, mark] : on_device) ++marks_[name][mark];
    std::set<std::string> on_host;
    for (const auto& activity : timeline_.activities) {
      if (const auto* span = begins_in(activity.time, step) ? annotation_of(activity) : nullptr)
        on_host.insert(span->name);
    }
    for (const auto& name : on_host) ++marks_[name][annotation];
  }

  /// The host's span in which the work was launched. Work of a graph is launched by one call: the annotation around it
  /// says nothing of its parts.
  const Span* annotation_of(const Activity& activity) const {
    if (timeline_.host_time) return host_phases_.deepest(activity.time.begin);
    const auto* launch = activity.graph_node == 0 ? launches_.find(activity.correlation) : nullptr;
    return launch != nullptr ? host_phases_.deepest(launch->time.begin) : nullptr;
  }

  void communication(const Interval& step) {
    const bool kernel =
        std::any_of(timeline_.activities.begin(), timeline_.activities.end(), [&](const Activity& activity) {
          return activity.type == ActivityClass::communication && begins_in(activity.time, step);
        });
    if (kernel && !timeline_.host_time) ++marks_["all_reduce"][communication_kernel];
    bool recorded = false, bucket = false;
    for (const auto& collective : timeline_.collectives) {
      const bool on_device = collective.device.end > collective.device.begin;
      if (!begins_in(on_device ? collective.device : collective.host, step)) continue;
      recorded = true;
      bucket = bucket || collective.bucket >= 0;
    }
    if (recorded) ++marks_["all_reduce"][record];
    if (bucket) ++marks_["bucket"][record];
  }

  const RankTimeline& timeline_;
  detail::CallIndex launches_;
  detail::Cover<Span> host_phases_;
  std::vector<Interval> extents_;
  Marks marks_;
};

std::string why_not(const std::string& part, const LaunchTraces& traces) {
  const bool between_ranks = part == "bucket" || part == "all_reduce";
  if (between_ranks && traces.ranks.front().world_size == 1) return "not applicable: one rank";
  return "no mark of it in every traced step";
}

}  // namespace

Json visibility_json(const LaunchTraces& traces) {
  if (traces.ranks.empty() || traces.ranks.front().steps.empty()) return nullptr;
  std::vector<Marks> ranks;
  for (const auto& timeline : traces.ranks) ranks.push_back(RankMarks(timeline).make());
  Json out = Json::object();
  for (const std::string part : {"forward", "backward", "optimizer", "bucket", "all_reduce"}) {
    auto by = Json::array();
    for (const char* mark : {graph_mark, device_mark, communication_kernel, annotation, record}) {
      bool everywhere = true;
      for (std::size_t i = 0; i < ranks.size(); ++i)
        everywhere = everywhere && ranks[i][part][mark] == traces.ranks[i].steps.size();
      if (everywhere) by.push_back(mark);
    }
    if (by.empty()) {
      out[part] = {{"located", false}, {"why", why_not(part, traces)}};
    } else {
      out[part] = {{"located", true}, {"by", by}};
    }
  }
  return out;
}

}  // namespace stepgauge::trace
