#include "trace/breakdown.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "trace/detail/step_counts.hpp"

namespace stepgauge::trace {
namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(part) / static_cast<double>(whole);
}

IntervalSet union_of(const std::vector<Activity>& activities, ActivityClass type) {
  std::vector<Interval> times;
  for (const auto& activity : activities)
    if (activity.type == type) times.push_back(activity.time);
  return unite(std::move(times));
}

/// The sets that the lengths are made of, over the whole pass: made once, cut into steps afterwards.
struct Sets {
  IntervalSet compute, communication, copy, exposed_comm, exposed_copy, overlap, busy;

  explicit Sets(const std::vector<Activity>& activities)
      : compute(union_of(activities, ActivityClass::compute)),
        communication(union_of(activities, ActivityClass::communication)),
        copy(union_of(activities, ActivityClass::copy)),
        exposed_comm(subtract(communication, compute)),
        overlap(intersect(communication, compute)) {
    const auto computing_or_communicating = unite(compute, communication);
    exposed_copy = subtract(copy, computing_or_communicating);
    busy = unite(computing_or_communicating, copy);
  }
};

Breakdown lengths(const Sets& sets, Interval window) {
  const auto inside = [window](const IntervalSet& set) { return length(clip(set, window)); };
  Breakdown out;
  out.window = std::max<std::int64_t>(0, window.end - window.begin);
  out.compute = inside(sets.compute);
  out.communication = inside(sets.communication);
  out.copy = inside(sets.copy);
  out.exposed_comm = inside(sets.exposed_comm);
  out.exposed_copy = inside(sets.exposed_copy);
  out.idle = length(gaps(sets.busy, window));
  out.overlap = inside(sets.overlap);
  return out;
}

void add(Breakdown& total, const Breakdown& step) {
  for (const auto member : {&Breakdown::window, &Breakdown::compute, &Breakdown::communication, &Breakdown::copy,
                            &Breakdown::exposed_comm, &Breakdown::exposed_copy, &Breakdown::idle, &Breakdown::overlap,
                            &Breakdown::duration_sum, &Breakdown::kernels, &Breakdown::copies, &Breakdown::launches,
                            &Breakdown::graph_launches, &Breakdown::collectives, &Breakdown::collective_bytes})
    total.*member += step.*member;
}

}  // namespace

double Breakdown::stall_ratio() const {
  return ratio(window - compute, window);
}
double Breakdown::idle_ratio() const {
  return ratio(idle, window);
}
double Breakdown::exposed_comm_ratio() const {
  return ratio(exposed_comm, window);
}
double Breakdown::exposed_copy_ratio() const {
  return ratio(exposed_copy, window);
}
double Breakdown::stall_article() const {
  return ratio(window - duration_sum, window);
}

std::optional<double> Breakdown::overlap_ratio() const {
  if (communication == 0) return std::nullopt;
  return ratio(overlap, communication);
}

// Each part comes from set operations of its own, so that the sums are a check of them.
void check_identities(const Breakdown& b, const std::string& step) {
  const auto parts = b.compute + b.exposed_comm + b.exposed_copy + b.idle;
  if (parts != b.window)
    throw std::logic_error(
        fmt::format("{}: compute {} + exposed communication {} + exposed copies {} + idle {} ns is {}, "
                    "not the window of {} ns",
                    step, b.compute, b.exposed_comm, b.exposed_copy, b.idle, parts, b.window));
  if (b.overlap + b.exposed_comm != b.communication)
    throw std::logic_error(fmt::format("{}: overlapped {} + exposed communication {} ns is not communication {} ns",
                                       step, b.overlap, b.exposed_comm, b.communication));
  if (b.exposed_copy > b.copy)
    throw std::logic_error(fmt::format("{}: exposed copies {} ns exceed copies {} ns", step, b.exposed_copy, b.copy));
  if (std::min({b.compute, b.exposed_comm, b.exposed_copy, b.idle, b.overlap}) < 0)
    throw std::logic_error(fmt::format("{}: a length is negative", step));
}

bool is_graph_launch(std::string_view call) {
  return call.starts_with("cudaGraphLaunch") || call.starts_with("cuGraphLaunch");
}

RankBreakdown break_down(const RankTimeline& timeline) {
  RankBreakdown out;
  const Sets sets(timeline.activities);
  for (const auto& step : timeline.steps) {
    out.steps.push_back(lengths(sets, step.time));
    check_identities(out.steps.back(), step.name);
  }
  detail::count_what_started(timeline, out.steps);
  for (const auto& step : out.steps) add(out.total, step);
  return out;
}

}  // namespace stepgauge::trace
