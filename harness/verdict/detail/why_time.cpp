// Where time went: phases of the start, parts of a step, kernels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "contract/loose_json.hpp"
#include "verdict/detail/why_parts.hpp"

namespace stepgauge::verdict::detail {
namespace {

/// Phases of the rank whose start took longest: they add up to the launch's init_latency.
std::optional<Values> init_phases(const LaunchRecord& launch) {
  const auto* ranks = part_of(launch.detail, {"ranks"});
  if (ranks == nullptr || !ranks->is_array()) return std::nullopt;
  std::optional<Values> longest;
  double most = -1;
  for (const auto& rank : *ranks) {
    const auto* phases = part_of(rank, {"phases_s"});
    if (phases == nullptr || !phases->is_object()) continue;
    Values values;
    double sum = 0;
    for (const auto& [name, value] : phases->items()) {
      if (!value.is_number()) continue;
      values[name] = value;
      sum += values[name];
    }
    if (sum <= most) continue;
    most = sum;
    longest = std::move(values);
  }
  return longest;
}

std::optional<Values> first_steps(const LaunchRecord& launch) {
  const auto* ranks = part_of(launch.detail, {"ranks"});
  if (ranks == nullptr || !ranks->is_array()) return std::nullopt;
  Values out;
  for (std::size_t i = 0; i < ranks->size(); ++i) {
    if (const auto value = loose::number(ranks->at(i), "first_step_s"))
      out[fmt::format("first step of rank {}", i)] = *value;
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

std::optional<Values> step_parts(const LaunchRecord& launch) {
  return traced_parts(launch, {{"compute", "compute_ms"},
                               {"exposed communication", "exposed_comm_ms"},
                               {"exposed copies", "exposed_copy_ms"},
                               {"idle", "idle_ms"}});
}

double sum_of(const Values& values) {
  return std::accumulate(values.begin(), values.end(), 0.0,
                         [](double sum, const auto& item) { return sum + item.second; });
}

void add_traced_phases(const TraceEvidence& traces, std::optional<double> change, WhyPart& out) {
  if (!traces.absent.empty()) {
    out.notes.push_back("forward, backward and optimizer are not recorded: " + traces.absent);
    return;
  }
  Values base, head;
  for (const auto& phase : traces.phases) {
    base["in " + phase.name] = phase.ms_base;
    head["in " + phase.name] = phase.ms_head;
  }
  auto lines = lines_of(base, head, "ms", change);
  for (auto& line : lines) line.note = "work launched there, of one launch of each arm";
  out.lines.insert(out.lines.end(), lines.begin(), lines.end());
}

void step_lines(const Arms& arms, const TraceEvidence& traces, WhyPart& out) {
  constexpr double rounding = 1e-5;  ///< parts of a step below this share of it are none
  constexpr double seen = 0.5;       ///< of the measured change that the traced steps must show
  const auto base = means(arms.base_ok, step_parts), head = means(arms.head_ok, step_parts);
  const auto change = change_of(arms, "step_time");
  if (!base || !head) {
    out.absent = "the parts of a step are not recorded: " + absent_reason(arms, "stall_ratio");
  } else {
    out.lines = lines_of(*base, *head, "ms", change);
    const double traced = sum_of(*head) - sum_of(*base), least = rounding * sum_of(*base);
    out.lines.erase(std::remove_if(out.lines.begin(), out.lines.end(),
                                   [&](const WhyLine& line) {
                                     return std::max(line.base.value_or(0), line.head.value_or(0)) < least;
                                   }),
                    out.lines.end());
    if (change && *change != 0 && traced / *change < seen) {
      out.notes.push_back(
          fmt::format("the traced steps changed by {:+.4g} ms, the measured ones by {:+.4g} ms: the traced pass does "
                      "not show the change",
                      traced, *change));
    }
  }
  add_traced_phases(traces, change, out);
}

}  // namespace

Family family_of(const std::string& metric) {
  if (metric == launches_row) return Family::launches;
  if (metric == "init_latency") return Family::init;
  if (metric == "first_step_latency" || metric == "time_to_steady") return Family::first_step;
  if (metric.starts_with("peak_") || metric == "outside_memory" || metric == "fragmentation") return Family::memory;
  for (const char* name : {"throughput", "throughput_per_gpu", "step_time", "tflops", "mfu", "cost", "stall_ratio",
                           "idle_ratio", "exposed_comm", "exposed_copy", "overlap_ratio"}) {
    if (metric == name) return Family::speed;
  }
  return Family::other;
}

WhyPart phases_part(const Arms& arms, Family family, const TraceEvidence& traces) {
  WhyPart out;
  out.kind = WhyKind::phases;
  if (family == Family::speed) {
    step_lines(arms, traces, out);
    return out;
  }
  const bool init = family == Family::init;
  const Reader read = init ? init_phases : first_steps;
  const auto base = means(arms.base_ok, read), head = means(arms.head_ok, read);
  if (!base || !head) {
    out.absent =
        not_recorded(base.has_value(), head.has_value(), init ? "the phases of the start" : "the ranks' first steps");
    return out;
  }
  out.lines = lines_of(*base, *head, "s", change_of(arms, init ? "init_latency" : "first_step_latency"));
  return out;
}

WhyPart kernels_part(const TraceEvidence& traces) {
  WhyPart out;
  out.kind = WhyKind::kernels;
  out.absent = traces.absent;
  out.notes = traces.notes;
  for (const auto& work : traces.work) {
    WhyLine line;
    line.name = work.name;
    line.unit = "us";
    line.base = work.us_base;
    line.head = work.us_head;
    line.how = work.how;
    line.note = work.note;
    if (work.count_base != work.count_head)
      line.note = fmt::format("{:.6g} -> {:.6g} a step", work.count_base, work.count_head);
    out.lines.push_back(std::move(line));
  }
  return out;
}

}  // namespace stepgauge::verdict::detail
