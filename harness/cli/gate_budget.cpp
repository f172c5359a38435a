#include "cli/gate_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "verdict/gate_schedule.hpp"

namespace stepgauge::cli {
namespace {

using Clock = std::chrono::steady_clock;

const Cell* find_cell(const store::RunFolder& folder, const std::string& id) {
  const auto& cells = folder.info().cells;
  const auto found = std::find_if(cells.begin(), cells.end(), [&](const Cell& cell) { return cell.id == id; });
  return found == cells.end() ? nullptr : &*found;
}

struct Need {
  double screen_s = 0;  ///< what this call took so far, and the pairs of every cell that are missing
  double pairs = 0;     ///< new ones that confirming the dearest cell takes on average
  double dearest_s = 0;
  double at_most_s = 0;  ///< the most that confirming a cell may take

  double expected_s() const { return screen_s + dearest_s; }
  double worst_s() const { return screen_s + at_most_s; }
};

Need need_of(const GateFolder& folder, const GateBudget& budget) {
  const auto& setup = folder.setup();
  const auto cells = folder.cells();
  Need out;
  out.screen_s = budget.elapsed_s();
  for (std::size_t cell = 0; cell < setup.cells.size(); ++cell) {
    out.screen_s += screen_seconds(folder, budget, cell, verdict::open_screen_pairs(cells[cell], setup.policy));
    out.at_most_s = std::max(out.at_most_s, budget.pairs_seconds({cell}, setup.policy.confirm_pairs));
    const double pairs = budget.new_pairs().at(cell);
    if (const double seconds = pairs * budget.pair_seconds(cell); seconds >= out.dearest_s) {
      out.dearest_s = seconds;
      out.pairs = pairs;
    }
  }
  return out;
}

/// "3 to 30 more pairs, about 8 for a change of the tolerance (typical: ...)"; of a fixed design their number.
std::string new_pairs_text(const verdict::GatePolicy& policy, const GateBudget& budget, const Need& need) {
  if (policy.looks.empty()) return fmt::format("{} more pairs", policy.confirm_pairs);
  return fmt::format("{} to {} more pairs, about {:.0f} for a change of the tolerance ({})", policy.looks.front().pairs,
                     policy.confirm_pairs, need.pairs, budget.new_pairs_source());
}

/// "about 4 min", and the most where the design leaves it open.
std::string confirmed_text(const verdict::GatePolicy& policy, double expected_s, double worst_s) {
  if (policy.looks.empty()) return duration_text(expected_s);
  return fmt::format("{}, {} at worst", duration_text(expected_s), duration_text(worst_s));
}

}  // namespace

GateBudget::GateBudget(std::optional<double> limit_s, const GateFolder& folder, const DurationGuess& guess)
    : limit_s_(limit_s), begin_(Clock::now()) {
  std::map<std::string, double> sum_s;
  std::map<std::string, std::size_t> launches;
  for (const bool head : {false, true}) {
    for (const auto& record : folder.arm(head).records()) {
      if (record.warm_up) continue;
      const auto key = (head ? "h" : "b") + record.cell_id;
      sum_s[key] += record.duration_s;
      ++launches[key];
    }
  }
  for (const auto& match : folder.setup().cells) {
    auto& known = known_.emplace_back();
    if (!match.unmatched.empty()) continue;
    double mean_s = 0;
    bool measured = true;
    for (const bool head : {false, true}) {
      const auto& id = head ? match.head : match.base;
      const auto& cell = *find_cell(folder.arm(head), id);
      known.guess_s += guess.launch_seconds(cell);
      known.guessed = known.guessed || !guess.measured(cell);
      const auto key = (head ? "h" : "b") + id;
      measured = measured && launches[key] > 0;
      if (measured) mean_s += sum_s[key] / static_cast<double>(launches[key]);
    }
    if (!measured) continue;
    known.guess_s = mean_s;
    known.guessed = false;
  }
}

double GateBudget::pair_seconds(std::size_t cell) const {
  const auto& known = known_.at(cell);
  return known.pairs == 0 ? known.guess_s : known.sum_s / static_cast<double>(known.pairs);
}

void GateBudget::add_pair(std::size_t cell, double seconds) {
  known_.at(cell).sum_s += seconds;
  ++known_.at(cell).pairs;
}

double GateBudget::elapsed_s() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

bool GateBudget::allows(std::size_t cell) const {
  if (!limit_s_) return true;
  const auto& known = known_.at(cell);
  const bool unknown = known.guessed && known.pairs == 0;
  return elapsed_s() + (unknown ? 0 : pair_seconds(cell)) < *limit_s_;
}

std::string GateBudget::used_up() const {
  return fmt::format("the budget of {} is used up", duration_text(limit_s_.value_or(0)));
}

double GateBudget::pairs_seconds(const std::vector<std::size_t>& cells, std::size_t pairs) const {
  double out = 0;
  for (const auto cell : cells) out += pair_seconds(cell) * static_cast<double>(pairs);
  return out;
}

double screen_seconds(const GateFolder& folder, const GateBudget& budget, std::size_t cell, std::size_t pairs) {
  const auto launches = 2 * pairs + folder.warm_up_arms(cell).size();
  return static_cast<double>(launches) / 2 * budget.pair_seconds(cell);
}

void GateBudget::expect_new_pairs(std::vector<double> pairs, std::string source) {
  new_pairs_ = std::move(pairs);
  new_pairs_source_ = std::move(source);
}

void tell_plan(const GateFolder& folder, const GateBudget& budget, const DurationGuess& guess) {
  const auto& setup = folder.setup();
  const auto need = need_of(folder, budget);
  fmt::print(stderr, "stepgauge: {} cells, {}{} pairs of each: about {}{}; confirming a cell takes {}: about {} ({})\n",
             setup.cells.size(), setup.policy.warm_up ? "a warm-up and " : "", setup.policy.screen_pairs,
             duration_text(need.screen_s), folder.attempts() > 0 ? " for what is missing" : "",
             new_pairs_text(setup.policy, budget, need), confirmed_text(setup.policy, need.dearest_s, need.at_most_s),
             folder.attempts() > 0 ? "from the launches made so far" : guess.source());
}

void check_budget(const GateFolder& folder, const GateBudget& budget, const std::string& source, bool quiet) {
  const auto need = need_of(folder, budget);
  const auto limit = budget.limit_s();
  if (!limit || need.worst_s() <= *limit) return;
  if (need.expected_s() <= *limit) {
    if (quiet) return;
    fmt::print(stderr,
               "stepgauge: the budget of {} suffices for the screen and one cell confirmed as expected, about {}, not "
               "at worst, {} ({})\n",
               duration_text(*limit), duration_text(need.expected_s()), duration_text(need.worst_s()), source);
    return;
  }
  fmt::print(stderr,
             "stepgauge: the budget of {} does not suffice ({}): the screen takes about {}, with one cell confirmed "
             "{}; what is left over will be inconclusive. --budget {:.0f}m would do, or fewer cells (--only)\n",
             duration_text(*limit), source, duration_text(need.screen_s),
             confirmed_text(folder.setup().policy, need.expected_s(), need.worst_s()),
             std::ceil(need.expected_s() / 60));
}

}  // namespace stepgauge::cli
