#pragma once
// What a rank sees: a pure function of the shell, the cell and the rank's place in the launch.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "machine/variables.hpp"

namespace stepgauge::launch {

using machine::Variables;

struct RankPlace {
  int launch = 0;
  int rank = 0, local_rank = 0;
  int local_world_size = 1;  ///< ranks on this host
  std::string cell_path, record_path;
  std::string trace_path;           ///< empty: no traced pass
  std::string nccl_log_path;        ///< where NCCL says what it does, unless the shell or the cell asks for its log
  std::string memory_history_path;  ///< empty: the allocator keeps no history
  std::string cache_path;           ///< this rank's folder of compile caches; empty: the cell has none
  std::string replay_path;          ///< plan of collectives to be made in place of training; empty: none
  std::string launch_id;            ///< unique in time on this machine, STEPGAUGE_LAUNCH_ID
  int progress_fd = -1;             ///< -1: none
  std::string progress_fifo;        ///< named pipe in its place; empty: none
  std::optional<int> store_fd;      ///< rank 0 of several
  std::optional<double> used_before_mib;  ///< memory in use on this rank's device before the launch
  std::string master_address = "127.0.0.1";
  std::uint16_t master_port = 0;  ///< when there are several ranks
  std::int64_t spawn_ns = 0;      ///< CLOCK_MONOTONIC
  std::vector<int> devices;       ///< indices into what the shell's CUDA_VISIBLE_DEVICES shows
  int usable_cores = 1;
};

/// The shell says one thing, the cell another; the cell wins, except for the contract's own variables.
struct EnvironmentConflict {
  std::string name, shell, cell;
};

struct RankEnvironment {
  Variables variables;
  std::vector<EnvironmentConflict> conflicts;
};

/// The allow-listed part of `shell`, what the cell's settings imply (transport, devices, threads, caches), the cell's
/// own `env`, and the contract's variables (docs/worker_contract.md), which nothing replaces. Throws
/// std::invalid_argument for a device that the shell's CUDA_VISIBLE_DEVICES does not show.
RankEnvironment rank_environment(const Variables& shell, const Cell& cell, const RankPlace& place);

/// Path of the worker `name` for a process of these variables: looked up in their PATH; empty when it is not found.
std::string find_worker(const std::string& name, const Variables& variables);

}  // namespace stepgauge::launch
