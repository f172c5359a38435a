#pragma once
// `stepgauge replay --run`: the collectives of logs made again on this machine.
#include <filesystem>
#include <string>

#include "cli/launcher_options.hpp"
#include "contract/json_io.hpp"

namespace stepgauge::cli {

struct ReplayRun {
  std::string device;      ///< "cuda" or "cpu"; empty: cuda where there is a GPU for each rank
  std::string out;         ///< folder of the launch; empty: runs/replay-<time>
  std::string worker;      ///< command; empty: the built-in worker
  double timeout_s = 600;  ///< deadline of the launch
  LauncherOptions launcher;
};

struct ReplayResult {
  std::filesystem::path folder;
  Json replay;          ///< of rank 0's record; null when there is a problem
  std::string problem;  ///< why the collectives could not be made again
};

/// Launches the plan's ranks with the plan (docs/collective_log.md) in place of training. Throws ConfigError for a
/// command that cannot be split and for a folder that is there already.
ReplayResult run_plan(const Json& plan, const ReplayRun& options, const std::string& program_name);

}  // namespace stepgauge::cli
