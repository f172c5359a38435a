#include "cli/gate_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepgauge::cli {
namespace {

using Clock = std::chrono::steady_clock;

const Cell* find_cell(const store::RunFolder& folder, const std::string& id) {
  const auto& cells = folder.info().cells;
  const auto found = std::find_if(cells.begin(), cells.end(), [&](const Cell& cell) { return cell.id == id; });
  return found == cells.end() ? nullptr : &*found;
}

struct Need {
  double screen_s = 0;   ///< pairs of every cell
  double dearest_s = 0;  ///< confirmation of the cell that takes longest, at most
};

Need need_of(const GateFolder& folder, const GateBudget& budget) {
  const auto& setup = folder.setup();
  Need out;
  for (std::size_t cell = 0; cell < setup.cells.size(); ++cell) {
    out.screen_s += budget.pairs_seconds({cell}, setup.policy.screen_pairs);
    out.dearest_s = std::max(out.dearest_s, budget.pairs_seconds({cell}, setup.policy.confirm_pairs));
  }
  return out;
}

}  // namespace

GateBudget::GateBudget(std::optional<double> limit_s, const GateFolder& folder, const DurationGuess& guess)
    : limit_s_(limit_s), begin_(Clock::now()) {
  std::map<std::string, double> sum_s;
  std::map<std::string, std::size_t> launches;
  for (const bool head : {false, true}) {
    for (const auto& record : folder.arm(head).records()) {
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

void tell_plan(const GateFolder& folder, const GateBudget& budget, const DurationGuess& guess) {
  const auto& setup = folder.setup();
  const auto need = need_of(folder, budget);
  fmt::print(
      stderr,
      "stepgauge: {} cells, {} pairs of each: about {}; confirming a cell takes {}{} pairs more, {} at most ({})\n",
      setup.cells.size(), setup.policy.screen_pairs, duration_text(need.screen_s),
      setup.policy.looks.empty() ? "" : fmt::format("{} to ", setup.policy.looks.front().pairs),
      setup.policy.confirm_pairs, duration_text(need.dearest_s),
      folder.attempts() > 0 ? "from the launches made so far" : guess.source());
}

void check_budget(const GateFolder& folder, const GateBudget& budget, const std::string& source) {
  const auto need = need_of(folder, budget);
  const auto limit = budget.limit_s();
  const double all_s = need.screen_s + need.dearest_s;
  if (!limit || all_s <= *limit) return;
  fmt::print(
      stderr,
      "stepgauge: the budget of {} does not suffice ({}): the screen takes about {}, with one cell confirmed {}{}; "
      "what is left over will be inconclusive. --budget {:.0f}m would do, or fewer cells (--only)\n",
      duration_text(*limit), source, duration_text(need.screen_s),
      folder.setup().policy.looks.empty() ? "" : "at most ", duration_text(all_s), std::ceil(all_s / 60));
}

}  // namespace stepgauge::cli
