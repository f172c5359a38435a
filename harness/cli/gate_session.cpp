#include "cli/gate_session.hpp"

#include <fmt/format.h>

#include "cli/interrupt.hpp"
#include "cli/progress_display.hpp"
#include "verdict/gate_schedule.hpp"

namespace stepgauge::cli {
namespace {

using verdict::GateCell;
using verdict::GateStage;
using verdict::GateStep;
using verdict::PairState;

class GateSession {
 public:
  GateSession(GateFolder& folder, launch::Launcher& launcher, GateBudget& budget, const GateSessionOptions& options)
      : folder_(folder), launcher_(launcher), budget_(budget), options_(options), attempt_(folder.attempts() + 1) {
    result_.cells = folder.cells();
  }

  GateSessionResult run(GateStage last_stage) {
    verdict::GateSchedule schedule(result_.cells, options_.policy);
    std::optional<GateStep> last;
    while (auto step = schedule.next()) {
      if (step->stage == GateStage::confirm && last_stage == GateStage::screen) break;
      if (!last || step->stage != last->stage) begin_stage(step->stage, schedule);
      if (last && last->pair == 0 && step->pair != 0) tell_first_round();
      announce(*step, schedule);
      if (!budget_.allows(step->cell)) {
        result_.stopped = budget_.used_up();
        break;
      }
      if (!warm_up(*step) || !make_pair(*step)) {
        result_.interrupted = true;
        result_.stopped = "the gate was interrupted";
        break;
      }
      last = step;
    }
    for (auto& cell : result_.cells) cell.stopped = result_.stopped;
    return std::move(result_);
  }

 private:
  void begin_stage(GateStage stage, const verdict::GateSchedule& schedule) {
    const bool screen = stage == GateStage::screen;
    announced_.assign(result_.cells.size(), screen ? options_.policy.screen_pairs : 0);
    if (!screen) {
      folder_.require_same_suite(options_.suite_path);
      tell_confirmation(schedule.confirmation().cells);
    }
    std::size_t launches = 0;
    double seconds = 0;
    for (std::size_t cell = 0; screen && cell < result_.cells.size(); ++cell) {
      const auto pairs = verdict::open_screen_pairs(result_.cells[cell], options_.policy);
      launches += 2 * pairs + folder_.warm_up_arms(cell).size();
      seconds += screen_seconds(folder_, budget_, cell, pairs);
    }
    display_.emplace(launches, seconds, options_.quiet);
  }

  /// Pairs of a confirmation are told look by look: how many there will be is not known before.
  void announce(const GateStep& step, const verdict::GateSchedule& schedule) {
    if (step.stage == GateStage::screen) return;
    const auto made = static_cast<std::size_t>(step.pair) - options_.policy.screen_pairs;
    if (made < announced_[step.cell]) return;
    const auto more = schedule.pairs_to_next_look(made);
    announced_[step.cell] = made + more;
    display_->add_launches(2 * more, budget_.pairs_seconds({step.cell}, more));
  }

  void tell_first_round() const {
    if (options_.on_first_round) options_.on_first_round();
  }

  /// Launches of the arms before the cell's first pair: half tries at it, which no rule looks at. False when the user
  /// interrupted one.
  bool warm_up(const GateStep& step) {
    if (step.stage != GateStage::screen || step.pair != 0) return true;
    for (const bool head : folder_.warm_up_arms(step.cell)) {
      const auto record = launch(step, head, {folder_.next_try(step.cell, 0), 0, true});
      if (!record) return false;
      display_->finish(*record, false);
    }
    return true;
  }

  struct Place {
    int number = 1;    ///< try at the pair
    int position = 0;  ///< within it
    bool warm_up = false;
  };

  /// Makes and appends one launch; nullopt when the user interrupted it.
  std::optional<LaunchRecord> launch(const GateStep& step, bool head, const Place& place) {
    const auto& cell = result_.cells[step.cell];
    const std::string arm = head ? "head" : "base";
    display_->set_label(place.warm_up ? arm + " warm-up" : arm);
    CellLauncher launcher(folder_.arm(head), options_.devices, inside_, *display_, launcher_, interrupt_);
    auto record = launcher.attempt(head ? cell.head : cell.base, step.pair);
    if (!record) return record;
    record->warm_up = place.warm_up;
    folder_.append(step.cell, head, *record,
                   {{"arm", arm},
                    {"stage", to_string(step.stage)},
                    {"pair", step.pair},
                    {"try", place.number},
                    {"position", place.position},
                    {"attempt", attempt_}});
    return record;
  }

  /// One try at a pair; false when the user interrupted it.
  bool make_pair(const GateStep& step) {
    const auto index = step.cell;
    const auto pair = step.pair;
    auto& display = *display_;
    const bool head_first = verdict::head_goes_first(options_.policy.seed, index, static_cast<std::size_t>(pair));
    const int number = folder_.next_try(index, pair);
    std::optional<LaunchRecord> records[2];  // base, head
    double seconds = 0;
    for (int position = 0; position < 2; ++position) {
      const bool head = (position == 0) == head_first;
      auto record = launch(step, head, {number, position});
      if (!record) return false;
      seconds += record->duration_s;
      records[head] = std::move(record);
      if (position == 0) display.finish(*records[head], false);
      if (position == 1) finish_pair(step, records[0].value(), records[1].value(), head);
    }
    budget_.add_pair(index, seconds);
    return true;
  }

  void finish_pair(const GateStep& step, const LaunchRecord& base, const LaunchRecord& head, bool head_was_last) {
    const auto [stage, index, pair] = step;
    auto& display = *display_;
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
    const auto most = options_.policy.confirm_pairs;
    const auto seconds = budget_.pairs_seconds(flagged, most);
    if (options_.policy.looks.empty()) {
      fmt::print(stderr, "stepgauge: {} of {} cells are under suspicion; {} new pairs of each, about {}\n",
                 flagged.size(), result_.cells.size(), most, duration_text(seconds));
      return;
    }
    fmt::print(stderr, "stepgauge: {} of {} cells are under suspicion; {} to {} new pairs of each, {} at most\n",
               flagged.size(), result_.cells.size(), options_.policy.looks.front().pairs, most, duration_text(seconds));
  }

  GateFolder& folder_;
  launch::Launcher& launcher_;
  GateBudget& budget_;
  const GateSessionOptions& options_;
  const int attempt_;
  const InsideOptions inside_;
  const InterruptWatch interrupt_;
  GateSessionResult result_;
  std::optional<ProgressDisplay> display_;  ///< of the stage
  std::vector<std::size_t> announced_;      ///< pairs of the stage that the display knows of, by cell
};

}  // namespace

GateSessionResult run_gate_session(GateFolder& folder, launch::Launcher& launcher, GateBudget& budget,
                                   const GateSessionOptions& options) {
  return GateSession(folder, launcher, budget, options).run(GateStage::confirm);
}

GateSessionResult run_pairs(GateFolder& folder, launch::Launcher& launcher, GateBudget& budget,
                            const GateSessionOptions& options, std::size_t pairs) {
  auto screen = options;
  screen.policy.screen_pairs = pairs;
  return GateSession(folder, launcher, budget, screen).run(GateStage::screen);
}

}  // namespace stepgauge::cli
