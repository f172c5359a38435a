#pragma once
// The launches of a gate: screen every cell, then confirm those under suspicion.
#include <functional>
#include <string>
#include <vector>

#include "cli/cell_launcher.hpp"
#include "cli/gate_budget.hpp"
#include "cli/gate_folder.hpp"
#include "launch/launcher.hpp"
#include "verdict/gate.hpp"

namespace stepgauge::cli {

struct GateSessionOptions {
  std::vector<int> devices;
  verdict::GatePolicy policy;
  std::string suite_path;
  bool quiet = false;
  std::function<void()> on_first_round{};  ///< called once a pair of every cell was made, when durations are known
};

struct GateSessionResult {
  std::vector<verdict::GateCell> cells;  ///< with everything that was measured, now or before
  bool interrupted = false;
  std::string stopped;  ///< why pairs are missing; empty: none are
};

/// Makes every pair that the folder lacks, one pair at a time, each cell in turn. Both launches of a pair follow each
/// other, in the order that the seed gives. Returns early when the user interrupts or the budget is used up. Throws
/// ConfigError when the suite was edited before the confirmation.
GateSessionResult run_gate_session(GateFolder& folder, launch::Launcher& launcher, GateBudget& budget,
                                   const GateSessionOptions& options);

/// The same for the first `pairs` pairs of every cell alone: no stage, nothing is confirmed.
GateSessionResult run_pairs(GateFolder& folder, launch::Launcher& launcher, GateBudget& budget,
                            const GateSessionOptions& options, std::size_t pairs);

}  // namespace stepgauge::cli
