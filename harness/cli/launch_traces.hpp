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

struct RankFiles {
  std::vector<trace::RankTimeline> timelines;  ///< one a rank that left a trace, by rank
  std::string error;                           ///< why a trace that was left cannot be read
  std::vector<summary::NcclLog> nccl_logs;     ///< one a rank that left one
  std::vector<std::string> collective_logs;    ///< names of the ranks' logs of collectives (docs/collective_log.md)
};

RankFiles read_rank_files(const std::filesystem::path& folder, int ranks);

/// Keeps the ranks' traces and adds merged.trace.json.gz: all ranks on one clock, with the devices' clocks and power as
/// counters (`health`'s times count from `began`, which is on the clock of the traces). Or, without `keep`, removes
/// them. NCCL's logs are kept. Returns a note when the merged file cannot be written.
std::string settle_traces(const std::filesystem::path& folder, const RankFiles& files, const HealthSamples& health,
                          std::chrono::steady_clock::time_point began, int ranks, bool keep);

}  // namespace stepgauge::cli
