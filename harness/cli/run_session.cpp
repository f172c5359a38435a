#include "cli/run_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "cli/duration_guess.hpp"
#include "cli/interrupt.hpp"
#include "cli/progress_display.hpp"
#include "summary/mode_metrics.hpp"

namespace stepgauge::cli {
namespace {

constexpr int max_attempts = 3;

struct Pending {
  const Cell* cell;
  int launch;
  bool warm_up;
};

std::vector<Pending> pending_launches(const store::RunFolder& folder, bool warm_up) {
  std::vector<Pending> out;
  int most = 0;
  for (const auto& cell : folder.info().cells) most = std::max(most, cell.launches);
  for (int launch = 0; launch < most; ++launch) {
    for (const auto& cell : folder.info().cells) {
      if (launch >= cell.launches || folder.completed(cell.id, launch)) continue;
      if (warm_up && launch == 0 && !folder.begun(cell.id)) out.push_back({&cell, launch, true});
      out.push_back({&cell, launch, false});
    }
  }
  return out;
}

bool worth_another_attempt(const LaunchRecord& record) {
  return record.attempt < max_attempts && outside_doing(record);
}

class Budget {
 public:
  Budget(std::optional<double> limit_s, const store::RunFolder& folder) : limit_s_(limit_s), begin_(Clock::now()) {
    for (const auto& record : folder.records()) note(record);
  }

  void note(const LaunchRecord& record) { last_s_[record.cell_id] = record.duration_s; }

  bool allows(const Cell& cell) const {
    if (!limit_s_) return true;
    const auto known = last_s_.find(cell.id);
    return std::chrono::duration<double>(Clock::now() - begin_).count() + (known == last_s_.end() ? 0 : known->second) <
           *limit_s_;
  }

  std::string used_up() const {
    return fmt::format("the budget of {} is used up", duration_text(limit_s_.value_or(0)));
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<double> limit_s_;
  Clock::time_point begin_;
  std::map<std::string, double> last_s_;  ///< cell id -> its last launch
};

}  // namespace

bool outside_doing(const LaunchRecord& record) {
  if (record.status == Status::disturbed) return true;
  return record.status == Status::unsteady && !summary::compiled_late(record);
}

SessionResult run_session(store::RunFolder& folder, launch::Launcher& launcher, const std::vector<int>& devices,
                          const InsideOptions& inside, bool quiet, double estimated_s, std::optional<double> budget_s,
                          bool warm_up) {
  const auto pending = pending_launches(folder, warm_up);
  ProgressDisplay display(pending.size(), estimated_s, quiet);
  const InterruptWatch interrupt;
  CellLauncher cell_launcher(folder, devices, inside, display, launcher, interrupt);
  SessionResult result;
  Budget budget(budget_s, folder);
  for (const auto& one : pending) {
    for (bool again = true; again;) {
      if (!budget.allows(*one.cell)) {
        result.stopped = budget.used_up();
        return result;
      }
      auto record = cell_launcher.attempt(*one.cell, one.launch);
      if (!record) {
        result.interrupted = true;
        return result;
      }
      record->warm_up = one.warm_up;
      folder.append(*record);
      budget.note(*record);
      again = !one.warm_up && worth_another_attempt(*record);
      display.finish(*record, again);
      ++result.launched;
    }
  }
  return result;
}

}  // namespace stepgauge::cli
