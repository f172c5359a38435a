#include "cli/launch_traces.hpp"

#include <fmt/format.h>

#include "contract/json_io.hpp"
#include "launch/launcher.hpp"
#include "trace/align.hpp"
#include "trace/merge.hpp"
#include "trace/reader.hpp"

namespace stepgauge::cli {
namespace {

/// Rank r's device is the r-th sampled one.
void add_device_counters(std::vector<trace::RankTimeline>& timelines, const HealthSamples& health,
                         std::chrono::steady_clock::time_point began) {
  const auto zero = std::chrono::duration_cast<std::chrono::nanoseconds>(began.time_since_epoch()).count();
  for (auto& timeline : timelines) {
    const auto rank = static_cast<std::size_t>(timeline.rank);
    if (timeline.foreign || rank >= health.devices.size()) continue;  // another tool's clock may be another one
    for (const auto& sample : health.devices[rank].samples) {
      const auto at = zero + static_cast<std::int64_t>(sample.t_s * 1e9);
      const auto add = [&](const char* name, const std::optional<double>& value) {
        if (value) timeline.counters.push_back({at, name, *value});
      };
      add("SM clock (MHz)", sample.sm_mhz);
      add("memory clock (MHz)", sample.memory_mhz);
      add("power (W)", sample.power_w);
    }
  }
}

}  // namespace

RankFiles read_rank_files(const std::filesystem::path& folder, int ranks) {
  RankFiles out;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto trace = folder / launch::trace_file_name(rank);
    const auto log = folder / launch::nccl_log_name(rank);
    if (auto name = fmt::format("rank{}.collectives.jsonl", rank); std::filesystem::exists(folder / name))
      out.collective_logs.push_back(std::move(name));
    try {
      if (std::filesystem::exists(trace)) {
        for (auto& timeline : trace::read_trace(trace.string())) out.timelines.push_back(std::move(timeline));
      }
      if (std::filesystem::exists(log)) out.nccl_logs.push_back(summary::read_nccl_log(read_text_file(log.string())));
    } catch (const std::exception& error) {
      out.error = error.what();
    }
  }
  if (!out.error.empty()) out.timelines.clear();
  return out;
}

std::string settle_traces(const std::filesystem::path& folder, const RankFiles& files, const HealthSamples& health,
                          std::chrono::steady_clock::time_point began, int ranks, bool keep) {
  if (!keep) {
    std::error_code ignored;
    for (int rank = 0; rank < ranks; ++rank) std::filesystem::remove(folder / launch::trace_file_name(rank), ignored);
    return "";
  }
  if (files.timelines.empty()) return "";
  auto timelines = files.timelines;
  add_device_counters(timelines, health, began);
  try {
    const auto alignment = trace::align(timelines);
    if (alignment) trace::apply(*alignment, timelines);
    trace::write_merged((folder / "merged.trace.json.gz").string(), timelines, alignment);
  } catch (const std::exception& error) {
    return fmt::format("the merged trace cannot be written: {}", error.what());
  }
  return "";
}

}  // namespace stepgauge::cli
