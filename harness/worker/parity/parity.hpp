#pragma once
// Correct before fast: the program that was measured is started anew and compared, step by step, with the eager program
// of the same weights and batches in higher precision.
#include <functional>
#include <memory>

#include "worker/device.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/step_program.hpp"

namespace stepgauge::worker {

/// What a few training steps from the initial weights came to: on the host, in double.
struct Trajectory {
  struct Sample {
    std::string name;
    std::vector<double> gradient;  ///< after the first step: every n-th element, at most `sample_elements`
    std::vector<double> update;    ///< of the same elements: parameter after the last step - initial parameter
  };
  std::vector<double> losses;
  double gradient_norm = 0;  ///< after the first step, over all parameters
  std::vector<Sample> samples;
};

/// Runs a step from the initial weights on each of `batches`. `loss_scaling`: the gradients are those of a loss times
/// the initial loss scale.
Trajectory follow(StepProgram& program, const std::vector<workloads::Batch>& batches, bool loss_scaling);

/// How far a trajectory may be from the reference in one precision.
struct Allowance {
  double loss = 0, gradient = 0, update = 0;
};

/// The distances of `value` to `reference` (docs/metrics.md, "Agreement"): relative for the loss (largest over the
/// steps) and the gradient norm, relative to the reference's norm for samples of gradients and updates (worst
/// parameter). `spread` is the eager program's own trajectory in the cell's precision: allowed is three times its
/// distance to the reference plus the precision's floor, as PyTorch's accuracy check of compiled models does it.
Json compare_trajectories(const Trajectory& value, const Trajectory& spread, const Trajectory& reference,
                          const std::string& precision);

/// The record's `parity`. `program` is given up on the way, since reference and program may not fit into memory
/// together; `group` is null for one rank.
Json check_parity(std::unique_ptr<StepProgram> program, const Cell& cell, const workloads::Workload& workload,
                  DeviceRoom& room, int rank, RankGroup* group);

}  // namespace stepgauge::worker
