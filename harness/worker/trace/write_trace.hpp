#pragma once
// A rank's trace file (docs/trace_file.md) from what was recorded.
#include <string>
#include <vector>

#include "contract/json_io.hpp"
#include "worker/trace/device_tracer.hpp"
#include "worker/trace/trace_log.hpp"

namespace stepgauge::worker {

struct TraceFacts {
  int rank = 0, world_size = 1;
  std::string backend;                   ///< nccl, gloo; empty for one rank
  bool host_time = false;                ///< operators on a CPU are the activities
  Json device = Json::object();          ///< DeviceRoom::describe()
  std::vector<std::string> phase_names;  ///< by the index in mark_code::phase
  std::vector<double> event_step_ms;
};

/// Writes `path`. Marks among the device's memsets become the windows of steps and phases. Throws std::system_error.
void write_trace(const std::string& path, const TraceFacts& facts, const TraceLog& log, const DeviceTrace& device);

}  // namespace stepgauge::worker
