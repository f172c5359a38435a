#pragma once
// The launches of one run, in order: every cell once, then every cell again, so that drift does not fall on one cell
// alone.
#include "cli/suite_options.hpp"
#include "launch/launcher.hpp"
#include "store/run_folder.hpp"

namespace stepgauge::cli {

struct SessionResult {
  bool interrupted = false;
  std::size_t launched = 0;
};

/// What of the inside of a launch is kept beside its record.
struct InsideOptions {
  bool memory_history = false;  ///< the allocator's history, one file a rank
};

/// Runs every launch of the folder that has no record yet and appends its record. Returns early when the user
/// interrupts; the running launch is then ended and left without a record.
SessionResult run_session(store::RunFolder& folder, launch::Launcher& launcher, const std::vector<int>& devices,
                          const InsideOptions& inside, bool quiet, double estimated_s);

}  // namespace stepgauge::cli
