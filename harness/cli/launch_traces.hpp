#pragma once
// What a launch left beside its records: trace files and NCCL's logs.
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "contract/health.hpp"
#include "summary/nccl_log.hpp"
#include "trace/timeline.hpp"

namespace stepgauge::cli {

struct LaunchTraces {
  std::vector<trace::RankTimeline> timelines;  ///< one a rank that left a trace, by rank
  std::string error;                           ///< why a trace that was left cannot be read
  std::vector<summary::NcclChannel> channels;
};

LaunchTraces read_launch_traces(const std::filesystem::path& folder, int ranks);

/// The devices' clocks and power as counters of the timelines: rank r's device is the r-th sampled one, times count
/// from `began`, which is on the clock of the traces (CLOCK_MONOTONIC).
void add_device_counters(LaunchTraces& traces, const HealthSamples& health,
                         std::chrono::steady_clock::time_point began);

/// Keeps the ranks' traces and adds merged.trace.json.gz of all ranks on one clock, or removes them. NCCL's logs are
/// kept. Returns a note when the merged file cannot be written.
std::string settle_launch_traces(const std::filesystem::path& folder, LaunchTraces& traces, int ranks, bool keep);

}  // namespace stepgauge::cli
