#include "cli/run_session.hpp"

#include <algorithm>

#include "cli/interrupt.hpp"
#include "cli/progress_display.hpp"
#include "summary/mode_metrics.hpp"

namespace stepgauge::cli {
namespace {

constexpr int max_attempts = 3;

struct Pending {
  const Cell* cell;
  int launch;
};

std::vector<Pending> pending_launches(const store::RunFolder& folder) {
  std::vector<Pending> out;
  int most = 0;
  for (const auto& cell : folder.info().cells) most = std::max(most, cell.launches);
  for (int launch = 0; launch < most; ++launch) {
    for (const auto& cell : folder.info().cells) {
      if (launch < cell.launches && !folder.completed(cell.id, launch)) out.push_back({&cell, launch});
    }
  }
  return out;
}

bool worth_another_attempt(const LaunchRecord& record) {
  return record.attempt < max_attempts && outside_doing(record);
}

}  // namespace

bool outside_doing(const LaunchRecord& record) {
  if (record.status == Status::disturbed) return true;
  return record.status == Status::unsteady && !summary::compiled_late(record);
}

SessionResult run_session(store::RunFolder& folder, launch::Launcher& launcher, const std::vector<int>& devices,
                          const InsideOptions& inside, bool quiet, double estimated_s) {
  const auto pending = pending_launches(folder);
  ProgressDisplay display(pending.size(), estimated_s, quiet);
  const InterruptWatch interrupt;
  CellLauncher cell_launcher(folder, devices, inside, display, launcher, interrupt);
  SessionResult result;
  for (const auto& one : pending) {
    for (bool again = true; again;) {
      const auto record = cell_launcher.attempt(*one.cell, one.launch);
      if (!record) {
        result.interrupted = true;
        return result;
      }
      folder.append(*record);
      again = worth_another_attempt(*record);
      display.finish(*record, again);
      ++result.launched;
    }
  }
  return result;
}

}  // namespace stepgauge::cli
