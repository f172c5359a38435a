#include "cli/gate_session.hpp"

#include <fmt/format.h>

#include <numeric>

#include "cli/interrupt.hpp"
#include "cli/progress_display.hpp"
#include "verdict/gate_schedule.hpp"

namespace stepgauge::cli {
namespace {

using verdict::GateCell;
using verdict::GateStage;
using verdict::PairState;

class GateSession {
 public:
  GateSession(GateFolder& folder, launch::Launcher& launcher, GateBudget& budget, const GateSessionOptions& options)
      : folder_(folder), launcher_(launcher), budget_(budget), options_(options), attempt_(folder.attempts() + 1) {
    result_.cells = folder.cells();
  }

  GateSessionResult run_first(std::size_t pairs) {
    run_stage(GateStage::screen, all_cells(), 0, static_cast<int>(pairs));
    for (auto& cell : result_.cells) cell.stopped = result_.stopped;
    return std::move(result_);
  }

  GateSessionResult run() {
    const auto screened = static_cast<int>(options_.policy.screen_pairs);
    const auto confirmed = screened + static_cast<int>(options_.policy.confirm_pairs);
    if (run_stage(GateStage::screen, all_cells(), 0, screened)) {
      const auto flagged = verdict::cells_to_confirm(result_.cells, options_.policy);
      if (!flagged.empty()) {
        folder_.require_same_suite(options_.suite_path);
        tell_confirmation(flagged);
        run_stage(GateStage::confirm, flagged, screened, confirmed);
      }
    }
    for (auto& cell : result_.cells) cell.stopped = result_.stopped;
    return std::move(result_);
  }

 private:
  std::vector<std::size_t> all_cells() const {
    std::vector<std::size_t> all(result_.cells.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  /// False when it ended early.
  bool run_stage(GateStage stage, const std::vector<std::size_t>& cells, int from, int to) {
    std::size_t open = 0;
    for (const auto cell : cells) {
      for (int pair = from; pair < to; ++pair) open += to_be_made(cell, pair);
    }
    ProgressDisplay display(2 * open, budget_.pairs_seconds(cells, static_cast<std::size_t>(to - from)),
                            options_.quiet);
    for (int pair = from; pair < to; ++pair) {
      for (const auto cell : cells) {
        while (to_be_made(cell, pair)) {
          if (!budget_.allows(cell)) {
            result_.stopped = budget_.used_up();
            return false;
          }
          if (!make_pair(stage, cell, pair, display)) {
            result_.interrupted = true;
            result_.stopped = "the gate was interrupted";
            return false;
          }
        }
      }
      if (open > 0 && pair == 0 && options_.on_first_round) options_.on_first_round();
    }
    return true;
  }

  /// A cell of which a pair was given up is invalid, whatever its other pairs would show.
  bool to_be_made(std::size_t index, int pair) const {
    const auto& cell = result_.cells[index];
    if (!cell.unmatched.empty()) return false;
    for (const auto& one : cell.tries) {
      if (verdict::pair_state(cell, one.pair, options_.policy) == PairState::gave_up) return false;
    }
    return verdict::pair_state(cell, pair, options_.policy) == PairState::open &&
           !verdict::confirmed_early(cell, options_.policy);
  }

  /// One try at a pair; false when the user interrupted it.
  bool make_pair(GateStage stage, std::size_t index, int pair, ProgressDisplay& display) {
    const bool head_first = verdict::head_goes_first(options_.policy.seed, index, static_cast<std::size_t>(pair));
    const int number = folder_.next_try(index, pair);
    std::optional<LaunchRecord> records[2];  // base, head
    double seconds = 0;
    for (int position = 0; position < 2; ++position) {
      const bool head = (position == 0) == head_first;
      const auto& cell = result_.cells[index];
      display.set_label(head ? "head" : "base");
      CellLauncher launcher(folder_.arm(head), options_.devices, inside_, display, launcher_, interrupt_);
      auto record = launcher.attempt(head ? cell.head : cell.base, pair);
      if (!record) return false;
      folder_.append(index, head, *record,
                     {{"arm", head ? "head" : "base"},
                      {"stage", to_string(stage)},
                      {"pair", pair},
                      {"try", number},
                      {"position", position},
                      {"attempt", attempt_}});
      seconds += record->duration_s;
      records[head] = std::move(record);
      if (position == 0) display.finish(*records[head], false);
      if (position == 1) finish_pair(stage, index, pair, records[0].value(), records[1].value(), head, display);
    }
    budget_.add_pair(index, seconds);
    return true;
  }

  void finish_pair(GateStage stage, std::size_t index, int pair, const LaunchRecord& base, const LaunchRecord& head,
                   bool head_was_last, ProgressDisplay& display) {
    auto& cell = result_.cells[index];
    cell.tries.push_back(gate_try(stage, pair, base, head));
    display.finish(head_was_last ? head : base, false);
    if (options_.quiet || verdict::pair_state(cell, pair, options_.policy) == PairState::settled) return;
    display.add_launches(2);
    const auto& spoilt = cell.tries.back().spoilt;
    fmt::print(stderr, "  pair {} is dropped{}{}\n", pair + 1, spoilt.empty() ? "" : ": ", spoilt);
  }

  void tell_confirmation(const std::vector<std::size_t>& flagged) const {
    if (options_.quiet) return;
    fmt::print(stderr, "stepgauge: {} of {} cells are under suspicion; {} new pairs of each, about {}\n",
               flagged.size(), result_.cells.size(), options_.policy.confirm_pairs,
               duration_text(budget_.pairs_seconds(flagged, options_.policy.confirm_pairs)));
  }

  GateFolder& folder_;
  launch::Launcher& launcher_;
  GateBudget& budget_;
  const GateSessionOptions& options_;
  const int attempt_;
  const InsideOptions inside_;
  const InterruptWatch interrupt_;
  GateSessionResult result_;
};

}  // namespace

GateSessionResult run_gate_session(GateFolder& folder, launch::Launcher& launcher, GateBudget& budget,
                                   const GateSessionOptions& options) {
  return GateSession(folder, launcher, budget, options).run();
}

GateSessionResult run_pairs(GateFolder& folder, launch::Launcher& launcher, GateBudget& budget,
                            const GateSessionOptions& options, std::size_t pairs) {
  return GateSession(folder, launcher, budget, options).run_first(pairs);
}

}  // namespace stepgauge::cli
