#pragma once
// What a rank is told through its environment (docs/worker_contract.md).
#include <cstdint>
#include <optional>
#include <string>

#include "contract/json_io.hpp"

namespace stepgauge::worker {

struct RankEnvironment {
  std::string cell_path, record_path;
  std::optional<std::string> trace_path;           ///< a traced pass is asked for
  std::optional<std::string> memory_history_path;  ///< the allocator's history is asked for
  std::optional<std::string> replay_path;          ///< a plan of collectives to run in place of a model
  int launch = 0;
  std::string launch_id;  ///< unique per launch
  int rank = 0, world_size = 1, local_rank = 0;
  std::string master_addr = "127.0.0.1";
  int master_port = 0;
  std::optional<int> store_fd;
  std::optional<std::int64_t> spawn_ns;  ///< CLOCK_MONOTONIC when the rank was started

  /// Where snapshots of compiled graphs go: rank<r>.graphs.json beside the record.
  std::string graphs_path() const;

  /// Where the log of collectives goes: rank<r>.collectives.jsonl beside the record.
  std::string collectives_path() const;

  /// Throws ContractError naming the variable that is missing or malformed.
  static RankEnvironment read();

 private:
  std::string beside_record(const char* ending) const;
};

/// Variables that can change a result, as this rank sees them: NCCL_*, TORCH_*, CUDA_*, PYTORCH_*, OMP_*, ...
Json recorded_variables();

/// CPU cores this rank may run on, e.g. "0-3,8", and how many.
Json cpu_placement();

}  // namespace stepgauge::worker
