#pragma once
// The loop that every mode shares: first step, warm-up until settled, measured steps without host
// synchronisation.
#include <functional>
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "contract/record.hpp"
#include "worker/device.hpp"
#include "worker/progress.hpp"
#include "worker/step_program.hpp"
#include "worker/trace/step_probe.hpp"
#include "worker/trace/traced_pass.hpp"

namespace stepgauge::worker {

struct LoopResult {
  double first_step_s = 0;      ///< start to device-synchronised end
  std::vector<double> step_ms;  ///< all steps in order; the first by the host's clock, the others by device
                                ///< events (host clock on CPU)
  std::size_t measured_from = 0;
  bool settled = false;  ///< false: warm-up ended at its cap
  double measured_wall_s =
      0;               ///< host's clock, start of the first measured step to the device-synchronised end of the last
  double spin_ms = 0;  ///< planted length per step
  std::vector<torch::Tensor> losses;  ///< of the first cell.measure.losses steps, on the device
  torch::Tensor last_loss;            ///< of the last measured step
  MemoryPeaks first_step_peaks, steady_peaks;
  TrafficByKind traffic;                      ///< handed to collectives over the measured steps
  Json usage = Json::object();                ///< what the measured steps cost the process: switches, faults, CPU time
  std::optional<double> outside_mib;          ///< behind the measured steps: tracers take device memory of their own
  std::optional<double> graph_pools_mib;      ///< likewise: the traced pass may capture a graph of its own
  std::optional<double> growth_mib_per_step;  ///< of allocated memory over the measured steps
};

/// What is done beside the measured steps, on the same program.
struct LoopExtras {
  StepProbe* first = nullptr;                       ///< of the first step; nullptr: none
  StepProbe* probe = nullptr;                       ///< of a settled one; nullptr: none
  TracedPass* traced = nullptr;                     ///< nullptr: no traced pass
  std::function<TrafficByKind()> traffic{};         ///< what was handed to collectives so far; empty: not looked at
  std::function<void(const std::string&)> plant{};  ///< plants a fault of this rank's collectives
};

/// Milliseconds of `count` calls of `work`, which submits only, by the device's clock (host clock on CPU).
std::vector<double> timed_ms(DeviceRoom& room, std::size_t count, const std::function<void()>& work);

/// `max_over_ranks` agrees on decisions between ranks (the identity for one rank).
LoopResult run_loop(StepProgram& program, const Cell& cell, DeviceRoom& room, Progress& progress, int rank,
                    const std::function<double(double)>& max_over_ranks, const LoopExtras& extras = {});

}  // namespace stepgauge::worker
