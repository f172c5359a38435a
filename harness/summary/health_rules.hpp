#pragma once
// When a launch was disturbed: rules fixed beforehand, with the numbers of docs/metrics.md. Samples in, reasons out.
#include <optional>
#include <string>
#include <vector>

#include "contract/health.hpp"
#include "contract/record.hpp"

namespace stepgauge::summary {

/// A compute process that is not the launch's counts, outside the measured steps, from more memory than this.
inline constexpr double foreign_memory_mib = 64;
/// A fall of the SM clock towards the end counts from here, as a share of its median in the measured steps.
inline constexpr double clock_drop = 0.15;
/// Time stolen by the hypervisor counts from here, as a share of the time of the cores that the launch may use.
inline constexpr double steal_share = 0.05;
/// Stolen time is not judged over fewer of the kernel's ticks (100 a second and core): a single one would decide.
inline constexpr std::uint64_t least_ticks = 100;
/// Involuntary context switches per measured step that are worth a note.
inline constexpr double involuntary_switches_per_step = 50;

struct Span {
  double from_s = 0, to_s = 0;
  bool holds(double t_s) const { return from_s <= t_s && t_s <= to_s; }
};

/// Stretches of a launch, in seconds since its start; absent when no rank told of that phase.
struct LaunchSpans {
  std::optional<Span> measured;          ///< a rank was in its measured steps
  std::optional<Span> after_first_step;  ///< from the end of the first first step to the end of the launch
};

/// From the phases that each rank told. A phase lasts until the next one, the last until the launch ended.
LaunchSpans spans_of(const std::vector<std::vector<PhaseStart>>& ranks, double end_s);

struct HealthJudgement {
  std::vector<std::string> disturbed;  ///< reasons; empty: the launch was left alone, as far as could be seen
  std::vector<std::string> notes;      ///< worth knowing, not held against the launch
};

/// Applies every rule. A device is judged by its samples in the measured steps; when there is none, by those after the
/// first step; when no rank told of either, by all. `cpu_cell`: steal is held against launches on the CPU alone.
HealthJudgement judge_health(const HealthSamples& health, const LaunchSpans& spans, bool cpu_cell);

/// What the ranks' own counts ("usage") say about the measured steps of a launch on the CPU.
std::vector<std::string> usage_notes(const std::vector<RankRecord>& ranks);

/// The part "health" of the launch record: the samples, and over which seconds they were judged.
Json health_json(const HealthSamples& health, const LaunchSpans& spans);

}  // namespace stepgauge::summary
