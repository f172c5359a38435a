#include "cli/why_evidence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "launch/launcher.hpp"
#include "stats/summary.hpp"
#include "summary/clock_change.hpp"
#include "trace/diff.hpp"
#include "trace/reader.hpp"
#include "trace/show.hpp"

namespace stepgauge::cli {
namespace {

constexpr double us_per_ms = 1000;

/// The folder of a launch, when its record names one inside the run and it holds a trace of rank 0.
std::optional<std::filesystem::path> traced_folder(const std::filesystem::path& run, const LaunchRecord& record) {
  const auto evidence = record.detail.find("evidence");
  if (run.empty() || evidence == record.detail.end() || !evidence->is_object()) return std::nullopt;
  const auto named = evidence->find("folder");
  if (named == evidence->end() || !named->is_string()) return std::nullopt;
  const auto inside = std::filesystem::path(named->get<std::string>()).lexically_normal();
  if (inside.empty() || inside.is_absolute() || *inside.begin() == "..") return std::nullopt;
  std::error_code error;
  if (!std::filesystem::is_regular_file(run / inside / launch::trace_file_name(0), error)) return std::nullopt;
  return run / inside;
}

/// Of the launches that went well and kept traces the one with the median step time.
std::optional<std::filesystem::path> median_launch(const Results& results, const CellResults& cell) {
  std::vector<std::pair<double, std::filesystem::path>> found;
  for (const auto& launch : cell.launches) {
    if (launch.status != Status::ok) continue;
    auto folder = traced_folder(results.folder, launch);
    if (!folder) continue;
    const auto time = launch.metrics.find("step_time");
    found.emplace_back(time == launch.metrics.end() ? 0 : time->second.value.value_or(0), std::move(*folder));
  }
  if (found.empty()) return std::nullopt;
  std::sort(found.begin(), found.end());
  return found[(found.size() - 1) / 2].second;
}

/// Milliseconds of a step by phase, mean over the ranks.
std::map<std::string, double> phases_of(const trace::LaunchTraces& traces) {
  std::map<std::string, double> out;
  const auto view = trace::view(traces, {std::nullopt, static_cast<std::size_t>(-1)});
  for (const auto& rank : view.ranks) {
    for (const auto& row : rank.work)
      out[row.phase.empty() ? "other work" : row.phase] += row.ms_per_step / static_cast<double>(view.ranks.size());
  }
  return out;
}

void add_phases(const trace::LaunchTraces& base, const trace::LaunchTraces& head, verdict::TraceEvidence& out) {
  const auto in_base = phases_of(base), in_head = phases_of(head);
  std::map<std::string, verdict::TracedPhase> phases;
  for (const auto& [name, ms] : in_base) phases[name].ms_base = ms;
  for (const auto& [name, ms] : in_head) phases[name].ms_head = ms;
  for (auto& [name, phase] : phases) {
    phase.name = name;
    out.phases.push_back(phase);
  }
}

std::string note_of(const trace::DiffRow& row) {
  if (row.change != trace::Change::idle) return "";
  auto out = fmt::format("most before {}", row.before.empty() ? "the end" : row.before);
  return row.host.empty() ? out : out + ", host: " + row.host;
}

verdict::TraceEvidence compared(const std::filesystem::path& base, const std::filesystem::path& head) {
  verdict::TraceEvidence out;
  const auto load = [](const std::filesystem::path& path) {
    return trace::analyse(path.string(), trace::read_launch_traces(path.string()));
  };
  const auto in_base = load(base), in_head = load(head);
  const auto diff = trace::diff(in_base, in_head);
  for (const auto* side : {&diff.a, &diff.b}) {
    if (side->doubtful.empty()) continue;
    out.absent = fmt::format("the trace {} cannot be trusted: {}", side->source, side->doubtful.front());
    return out;
  }
  for (const auto& row : diff.rows) {
    out.work.push_back({row.name, std::string(to_string(row.change)), row.count_a, row.count_b, us_per_ms * row.ms_a,
                        us_per_ms * row.ms_b, note_of(row)});
  }
  add_phases(in_base, in_head, out);
  out.notes = diff.notes;
  out.notes.push_back(fmt::format("stepgauge trace diff {} {}", base.string(), head.string()));
  return out;
}

}  // namespace

verdict::TraceEvidence trace_evidence(const Results& base, const CellResults& in_base, const Results& head,
                                      const CellResults& in_head) {
  const auto base_launch = median_launch(base, in_base), head_launch = median_launch(head, in_head);
  verdict::TraceEvidence out;
  if (!base_launch || !head_launch) {
    out.absent = fmt::format("no traces were kept by {} (run --trace, or trace: true in the suite, keeps them)",
                             base_launch   ? "head"
                             : head_launch ? "base"
                                           : "either arm");
    return out;
  }
  try {
    return compared(*base_launch, *head_launch);
  } catch (const std::exception& error) {
    out.absent = fmt::format("the traces cannot be compared: {}", error.what());
    return out;
  }
}

std::vector<verdict::WhyLine> worker_lines(const Results& base, const Results& head) {
  std::vector<verdict::WhyLine> out;
  for (const auto& [name, command] : base.workers) {
    const auto other = head.workers.find(name);
    if (other == head.workers.end() || other->second == command) continue;
    verdict::WhyLine line;
    line.name = "worker " + name;
    line.base_text = fmt::format("{}", fmt::join(command, " "));
    line.head_text = fmt::format("{}", fmt::join(other->second, " "));
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<verdict::WhyLine> clock_lines(const CellResults& base, const CellResults& head) {
  const auto medians = [](const CellResults& cell) {
    std::map<int, std::vector<double>> clocks;
    for (const auto& launch : cell.launches) {
      if (launch.status != Status::ok) continue;
      for (const auto& [device, clock] : summary::measured_clocks(launch)) clocks[device].push_back(clock);
    }
    std::map<int, double> out;
    for (const auto& [device, values] : clocks) out[device] = *stats::median(values);
    return out;
  };
  const auto in_base = medians(base), in_head = medians(head);
  std::vector<verdict::WhyLine> out;
  for (const auto& [device, clock] : in_base) {
    const auto other = in_head.find(device);
    if (other == in_head.end()) continue;
    verdict::WhyLine line;
    line.name = fmt::format("GPU {}: SM clock in the measured steps", device);
    line.unit = "MHz";
    line.base = clock;
    line.head = other->second;
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace stepgauge::cli
