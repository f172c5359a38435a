#pragma once
// One launch of a cell of a run folder, from the empty launch folder to the record: what `run` and `gate` share.
#include <filesystem>
#include <optional>
#include <vector>

#include "cli/interrupt.hpp"
#include "cli/progress_display.hpp"
#include "contract/cell.hpp"
#include "contract/health.hpp"
#include "contract/record.hpp"
#include "launch/launcher.hpp"
#include "store/run_folder.hpp"

namespace stepgauge::cli {

/// What of the inside of a launch is kept beside its record.
struct InsideOptions {
  bool memory_history = false;  ///< the allocator's history, one file a rank
};

/// Makes launches of the folder's cells with the folder's worker commands. The record is not appended.
class CellLauncher {
 public:
  /// Keeps references to all of them.
  CellLauncher(store::RunFolder& folder, const std::vector<int>& devices, const InsideOptions& inside,
               ProgressDisplay& display, launch::Launcher& launcher, const InterruptWatch& interrupt)
      : folder_(folder),
        devices_(devices),
        inside_(inside),
        display_(display),
        launcher_(launcher),
        interrupt_(interrupt) {}

  /// One attempt at one launch; nullopt when the user interrupted it.
  std::optional<LaunchRecord> attempt(const Cell& cell, int launch);

 private:
  struct Launched {
    launch::LaunchOutcome outcome;
    HealthSamples health;
    Json memory;  ///< in use on the devices before and after; null without devices
  };
  /// The attempt that is being made.
  struct Attempt {
    const Cell& cell;
    int launch = 0, attempt = 1;
    std::filesystem::path path;
  };

  launch::LaunchRequest request_of(const Cell& cell, int launch, const std::filesystem::path& path) const;
  std::optional<std::filesystem::path> caches_to_fill(const Cell& cell) const;
  Launched launch(launch::LaunchRequest request);
  std::optional<LaunchRecord> fill_caches(const Attempt& attempt, Json& evidence);
  LaunchRecord summarised(const Attempt& attempt, Launched launched, const Json& evidence) const;
  std::optional<LaunchRecord> measure(const Attempt& attempt, Json evidence);
  void settle_cold_caches(const Cell& cell, const std::filesystem::path& path,
                          const std::filesystem::path& caches) const;

  store::RunFolder& folder_;
  const std::vector<int>& devices_;
  const InsideOptions& inside_;
  ProgressDisplay& display_;
  launch::Launcher& launcher_;
  const InterruptWatch& interrupt_;
  bool interrupted_ = false;
};

}  // namespace stepgauge::cli
