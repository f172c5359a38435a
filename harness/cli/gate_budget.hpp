#pragma once
// How long a gate takes, and whether the time that it was given suffices.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/duration_guess.hpp"
#include "cli/gate_folder.hpp"

namespace stepgauge::cli {

class GateBudget {
 public:
  /// `limit_s`: nullopt for as long as it takes. Counts from now on.
  GateBudget(std::optional<double> limit_s, const GateFolder& folder, const DurationGuess& guess);

  /// Seconds of one pair of the cell: the mean of those measured, else the guess for both arms.
  double pair_seconds(std::size_t cell) const;
  void add_pair(std::size_t cell, double seconds);

  double elapsed_s() const;
  /// Whether there is time for one more pair of the cell. A guess stops nothing: the first pair of a cell that was
  /// never measured here is made as long as any time is left.
  bool allows(std::size_t cell) const;
  /// "the budget of 30 min is used up".
  std::string used_up() const;
  std::optional<double> limit_s() const { return limit_s_; }

  /// New pairs that confirming a change of the threshold takes on average, by cell. `source`: where that is from.
  void expect_new_pairs(std::vector<double> pairs, std::string source);
  const std::vector<double>& new_pairs() const { return new_pairs_; }
  const std::string& new_pairs_source() const { return new_pairs_source_; }

  /// Seconds for that many pairs of each cell.
  double pairs_seconds(const std::vector<std::size_t>& cells, std::size_t pairs) const;

 private:
  std::optional<double> limit_s_;
  std::chrono::steady_clock::time_point begin_;
  struct Known {
    double sum_s = 0;
    std::size_t pairs = 0;
    double guess_s = 0;
    bool guessed = false;
  };
  std::vector<Known> known_;
  std::vector<double> new_pairs_;
  std::string new_pairs_source_;
};

/// Seconds of so many pairs of the cell's screen, and of the warm-up that it still lacks.
double screen_seconds(const GateFolder& folder, const GateBudget& budget, std::size_t cell, std::size_t pairs);

/// Says on standard error what is ahead and how long it takes.
void tell_plan(const GateFolder& folder, const GateBudget& budget, const DurationGuess& guess);

/// Says on standard error when the budget does not suffice for the screen and what confirming one cell takes on
/// average, and what would; unless `quiet` also when it suffices for that and not for the most that it may take.
/// `source`: where the durations are from.
void check_budget(const GateFolder& folder, const GateBudget& budget, const std::string& source, bool quiet);

}  // namespace stepgauge::cli
