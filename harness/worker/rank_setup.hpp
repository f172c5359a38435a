#pragma once
// What a rank is made of, and the phases before its first step, in which it is made.
#include <memory>
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "worker/device.hpp"
#include "worker/parallel/collective_log.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/phase_clock.hpp"
#include "worker/progress.hpp"
#include "worker/rank_environment.hpp"
#include "worker/step_program.hpp"
#include "worker/trace/trace_log.hpp"

namespace stepgauge::worker {

/// In the order in which it comes to be; what is not made yet, or not needed, is null.
struct RankParts {
  const RankEnvironment& environment;
  const Cell& cell;
  TraceLog log{};
  Progress progress{};
  std::unique_ptr<DeviceRoom> room{};
  bool history_kept = false;                     ///< the allocator keeps its history
  std::unique_ptr<CollectiveLog> collectives{};  ///< where the cell wants one
  std::unique_ptr<RankGroup> group{};            ///< of two and more ranks
  std::unique_ptr<workloads::Workload> workload{};
  torch::Tensor held{};  ///< memory that is planted
  std::unique_ptr<StepProgram> program{};
  Json outside_after = Json::object();  ///< by phase that ended: MiB in use outside the allocator
  std::vector<std::string> notes{};     ///< what could not be had and costs the launch nothing else
};

class RankSetup {
 public:
  /// Phase `spawn` ends at `main_entered_ns` (CLOCK_MONOTONIC). `parts` outlives this.
  RankSetup(RankParts& parts, std::int64_t main_entered_ns);

  /// Phases `runtime` and, of two and more ranks, `rendezvous`. Throws UnsupportedCell for what this build or machine
  /// cannot do, std::runtime_error where cell and environment disagree about the ranks.
  void start();
  /// Phases `build`, `wrap` (two and more ranks) and `compile` (not of eager). Throws UnsupportedCell, IneffectiveCell
  /// and whatever Torch throws.
  void prepare();

  /// Of the phases that ended.
  const std::map<std::string, double>& phases_s() const { return phases_.seconds(); }

 private:
  void refuse_unknown_modes() const;
  void keep_memory_history();
  void keep_collectives();
  void build();
  template <typename Work>
  void phase(const char* name, Work&& work);

  RankParts& parts_;
  PhaseClock phases_;
};

}  // namespace stepgauge::worker
