#pragma once
// One launch: a fresh group of rank processes that executes a cell once, ended and reaped whatever they do.
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "contract/health.hpp"
#include "contract/record.hpp"
#include "contract/status.hpp"
#include "launch/container.hpp"

namespace stepgauge::launch {

struct LaunchRequest {
  Cell cell;
  int launch = 0;                    ///< index within the cell
  std::vector<std::string> command;  ///< worker and its arguments; the worker is looked up in PATH when it has no "/"
  std::optional<ContainerImage> container{};  ///< where the command runs; of the local launcher alone
  std::filesystem::path folder;               ///< made when missing; gets cell.json, rankN.json, rankN.out, rankN.err
  std::vector<int> devices;                   ///< CUDA indices, empty for cpu
  std::filesystem::path caches{};  ///< folder of the ranks' compile caches; empty: cold_cache_name in `folder`
  std::vector<std::optional<double>> used_before_mib{};  ///< memory in use on each device before the launch
  std::filesystem::path replay_plan{};                   ///< collectives to be made in place of training; empty: none
  bool memory_history = false;                           ///< ranks write the allocator's history (memory_history_name)
  double interrupt_grace_s = 2;  ///< grace of an interrupted launch, when it is shorter than the cell's
  int interrupt_fd = -1;         ///< readable when the user interrupts (a self-pipe of the CLI); not read from
  std::function<void(int rank, pid_t pid)> on_rank_started{};  ///< called once a rank's program runs; must not wait
};

/// Compile caches of a cold start, in the launch's folder.
inline constexpr const char* cold_cache_name = "cache";

inline constexpr const char* cell_file_name = "cell.json";

std::string rank_name(int rank);         ///< "rank3"; its logs are rank3.out and rank3.err
std::string rank_record_name(int rank);  ///< "rank3.json"

/// Files that a rank leaves in the launch's folder beside its record.
std::string trace_file_name(int rank);      ///< the traced pass (docs/trace_file.md)
std::string nccl_log_name(int rank);        ///< what NCCL says of itself (NCCL_DEBUG=INFO)
std::string rank_cache_name(int rank);      ///< its compile caches, in the launch's folder of caches
std::string memory_history_name(int rank);  ///< the allocator's snapshot, for PyTorch's memory viewer

/// Named pipe of a rank's progress, where it inherits no descriptor; gone after the launch.
std::string progress_fifo_name(int rank);

/// How one rank went. Times are seconds since the start of the launch.
struct RankExit {
  int rank = 0;
  std::string host;  ///< empty: this one
  pid_t pid = 0;
  std::optional<int> exit_code, signal;  ///< both absent: never started, or could not be killed
  bool killed_by_harness = false;        ///< it was still running when the launcher began to end the launch
  std::string last_phase;                ///< empty: it never told one
  std::optional<std::int64_t> last_step;
  std::vector<PhaseStart> phases;       ///< in the order told, the first 64 of them
  double last_sign_s = 0;               ///< last line of progress or byte of output
  double ended_s = 0;                   ///< when it was reaped
  std::optional<double> record_s;       ///< when its record was written
  std::vector<std::string> last_lines;  ///< of stderr, of stdout when stderr is empty; at most 20, printable
  std::uint64_t out_bytes = 0, err_bytes = 0, dropped_bytes = 0;
  double user_s = 0, system_s = 0;
  std::int64_t max_rss_kib = 0;
  std::int64_t voluntary_switches = 0, involuntary_switches = 0, minor_faults = 0, major_faults = 0;
  std::optional<RankRecord> record;
  std::string record_error;  ///< why there is no usable record; empty when there is one
};

struct LaunchOutcome {
  Status status = Status::crashed;
  std::string reason;  ///< empty when ok
  std::vector<RankExit> ranks;
  Json evidence = Json::object();  ///< ranks, left_behind, environment_conflicts, hang, notes (lines for people)
  double duration_s = 0;
  std::string started_at;                         ///< UTC, ISO 8601
  std::chrono::steady_clock::time_point began{};  ///< the same moment; what times in seconds count from
  bool interrupted = false;  ///< the user interrupted; status is `skipped` unless the launch had ended before
};

/// Called when a rank tells something new, and about once a second besides, so that a display can tick.
struct Progress {
  int rank = 0;
  std::string phase;
  std::optional<std::int64_t> step;
  double elapsed_s = 0;
  double last_sign_s = 0;  ///< of the rank, on the same clock
};

class Launcher {
 public:
  Launcher() = default;
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  virtual ~Launcher();

  /// Runs one launch to its end; nothing of it runs on return, nor after an exception of `on_progress`.
  /// Throws std::system_error when the folder cannot be written and std::invalid_argument for an empty command,
  /// no rank, a device that CUDA_VISIBLE_DEVICES does not show, or a container that the launcher cannot place.
  /// Everything a worker may do is a status.
  virtual LaunchOutcome launch(const LaunchRequest& request,
                               const std::function<void(const Progress&)>& on_progress) = 0;
};

/// Ranks as children of this process, which becomes a child subreaper: whatever a rank starts is found again, and every
/// child that this process gains during a launch counts as the launch's. Use it from the main thread of a program that
/// starts no other processes at the same time; the ranks die with that thread.
std::unique_ptr<Launcher> local_launcher();

struct EngineOptions;  // launch/engine.hpp

/// Ranks placed by mpirun or srun, each below an agent on its host (`stepgauge rank-agent`). The launch's folder and
/// the worker must have the same path on every host. Use it as the local one. The engine is one child of this process;
/// a host that falls silent makes the launch `crashed`, a job that Slurm cancelled `skipped`.
std::unique_ptr<Launcher> engine_launcher(EngineOptions options);

}  // namespace stepgauge::launch
