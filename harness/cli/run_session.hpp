#pragma once
// The launches of one run, in order: every cell once, then every cell again, so that drift does not fall on one cell
// alone.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/cell_launcher.hpp"
#include "launch/launcher.hpp"
#include "store/run_folder.hpp"

namespace stepgauge::cli {

struct SessionResult {
  bool interrupted = false;
  std::size_t launched = 0;
  std::string stopped;  ///< why launches are missing although nobody interrupted; empty: none are
};

/// The launch says nothing of the program, by rules fixed beforehand: what else ran on the machine spoilt it. It is
/// made again, and every attempt stays in the journal. A program that compiled in its measured steps would do so again.
bool outside_doing(const LaunchRecord& record);

/// Runs every launch of the folder that has no record yet and appends its record. Returns early when the user
/// interrupts; the running launch is then ended and left without a record. With a budget (seconds from now) no launch
/// is begun that would not fit, by what the last one of its cell took; a cell's first launch is begun as long as any
/// time is left. `warm_up`: each cell that has no record is launched once before, and that launch does not count.
SessionResult run_session(store::RunFolder& folder, launch::Launcher& launcher, const std::vector<int>& devices,
                          const InsideOptions& inside, bool quiet, double estimated_s,
                          std::optional<double> budget_s = std::nullopt, bool warm_up = false);

}  // namespace stepgauge::cli
