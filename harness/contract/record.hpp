#pragma once
// What is left behind: a rank record (one rank of one launch, written by a worker) and a launch record (one
// JSON line in the run's journal, made of the rank records by the CLI). Both follow schema "record", told
// apart by "scope".
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "contract/json_io.hpp"
#include "contract/status.hpp"

namespace stepgauge {

inline constexpr int record_version = 1;

/// A number, or absent with a reason; never NaN.
struct MetricValue {
  std::optional<double> value;
  std::string unit;
  std::string absent;  ///< why there is no value
};

/// Allocator peaks in MiB; a field that the worker cannot know is absent.
struct MemoryPeaks {
  std::optional<double> allocated_mib, active_mib, reserved_mib;
};

struct RankRecord {
  std::string cell_id, cell_hash;
  int launch = 0;  ///< index of the launch within the cell
  int rank = 0;
  int world_size = 1;
  Status status = Status::ok;
  std::string reason;  ///< empty when ok

  std::map<std::string, double> phases_s;  ///< known_phases(), seconds
  std::vector<double> step_ms;             ///< every step from the first, in order
  std::size_t measured_from = 0;       ///< index of the first measured step (first step and warm-up stand before it)
  std::optional<double> first_step_s;  ///< start to device-synchronised end
  double work_per_step = 0;            ///< of this rank
  std::string work_unit = "samples";
  std::optional<double> flops_per_step;
  std::string flops_formula;
  std::optional<double> peak_tflops;
  std::string peak_source;
  MemoryPeaks memory_first_step, memory_steady;
  std::optional<double> outside_mib;
  std::string memory_method;

  /// Whatever else the rank has to say, kept as it is: losses, settings (asked, set, used), device, software,
  /// environment, cpu, wall, evidence.
  Json detail = Json::object();
};

/// Reads a rank record; ContractError for a newer version, another scope, a missing or non-finite value, a
/// negative time.
RankRecord rank_record_from_json(const Json& value, std::string_view origin);
Json to_json(const RankRecord& record);

struct LaunchRecord {
  std::string cell_id, cell_hash, suite;
  int launch = 0;
  int attempt = 1;  ///< counts re-runs of the same launch after --resume or --retry
  Status status = Status::ok;
  std::string reason;
  std::string started_at;  ///< UTC, ISO 8601
  double duration_s = 0;
  bool perturbed = false;
  bool warm_up = false;  ///< made before the launches that count, for what the machine has not read yet: no result
  std::map<std::string, MetricValue> metrics;

  /// samples (step_ms of the slowest rank per step, window), losses, ranks (the rank records), evidence.
  Json detail = Json::object();
};

LaunchRecord launch_record_from_json(const Json& value, std::string_view origin);
Json to_json(const LaunchRecord& record);

}  // namespace stepgauge
