#pragma once
// How cells are measured and judged, as far as a suite or an override says.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/node.hpp"
#include "contract/cell.hpp"

namespace stepgauge::config {

struct PolicyPatch {
  std::optional<int> launches;
  std::optional<double> price_per_gpu_hour, peak_tflops, stall_alarm;
  std::optional<std::int64_t> steps, warmup_block, warmup_max_steps, losses, trace_steps, parity_steps;
  std::optional<bool> keep_trace, graphs, ir_census, allreduce_sweep, collective_log;
  std::optional<double> warmup_max_s;
  std::optional<double> launch_s, silence_s, grace_s, compile_s;
  std::optional<int> gpus;
  std::optional<double> gpu_memory_gib, compute_capability, memory_gib;
  std::optional<std::string> link;
  std::map<std::string, CellTolerance> tolerance;

  /// Later patches win, field by field.
  void apply(Cell& cell) const;
};

/// Keys of the policy that may stand in an override: launches, measure, limits, requires, tolerance, trace,
/// stall_alarm.
const std::vector<std::string>& policy_keys();

/// Reads one of the keys above, or price_per_gpu_hour or peak_tflops. Throws ConfigError.
void read_policy(const std::string& key, const Node& node, const std::string& where, PolicyPatch& patch);

}  // namespace stepgauge::config
