#pragma once
// What a launch left beside its records: trace files and NCCL's logs.
#include <filesystem>
#include <string>
#include <vector>

#include "summary/nccl_log.hpp"
#include "trace/timeline.hpp"

namespace stepgauge::cli {

struct LaunchTraces {
  std::vector<trace::RankTimeline> timelines;  ///< one a rank that left a trace, by rank
  std::string error;                           ///< why a trace that was left cannot be read
  std::vector<summary::NcclChannel> channels;
};

LaunchTraces read_launch_traces(const std::filesystem::path& folder, int ranks);

/// Keeps the ranks' traces and adds merged.trace.json.gz of all ranks on one clock, or removes them. NCCL's logs are
/// kept. Returns a note when the merged file cannot be written.
std::string settle_launch_traces(const std::filesystem::path& folder, LaunchTraces& traces, int ranks, bool keep);

}  // namespace stepgauge::cli
