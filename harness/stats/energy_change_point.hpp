#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Where a series of nights changed: E-divisive (Matteson and James 2014), hierarchical splits at the largest energy
// distance between neighbouring stretches. It names places and sizes after an alarm; it pages nobody. Where in one
// launch the steps settle is another question, see change_point.hpp.
namespace stepgauge::stats {

// as_in_otava reproduces two habits of Hunter and Otava: the t test pools standard deviations of the population,
// which takes p for smaller than it is, badly so with few points; and when a change is dropped, the two changes
// after it are judged anew instead of the one before it and the one after it. For comparison with their results.
enum class HunterVariant { corrected, as_in_otava };

struct EnergyWindowRule {
  std::size_t window = 50;      // nights, at least 2
  double max_p = 0.001;         // of each change that stays; the splits themselves pass at a weaker level
  double min_magnitude = 0.0;   // fraction; changes of up to this size are dropped
  std::size_t min_segment = 3;  // points on either side of a change; Hunter takes 1
  HunterVariant variant = HunterVariant::corrected;
  double inflation = 1.0;  // of the variance of a mean of correlated values, autocorrelation.hpp; at least 1
};

struct EnergyChange {
  std::size_t index;   // first value of the later level
  std::size_t begin;   // the earlier level is [begin, index)
  std::size_t end;     // the later level is [index, end)
  double mean_before;  // unit of the values
  double mean_after;
  double p_value;  // two-sided Student t between the levels, pooled and inflated variance; blind to the choice of place

  // The larger of |after / before - 1| and |before / after - 1|: up and down count the same.
  double magnitude() const;
};

// Hunter's two stages (Fleming et al. 2023; today Apache Otava): E-divisive with a t test in windows that overlap
// by half, at 10 * max_p (2 * max_p from 0.05 on), so that far-off levels do not mask near ones; then the weakest
// change of the union is dropped again and again until all have p < max_p and magnitude > min_magnitude. The values
// are of one sign, not logarithms. Ascending indices. Throws std::invalid_argument on values that are not finite, a
// window below 2, max_p outside (0, 1), a negative min_magnitude, a min_segment of 0 or an inflation below 1.
std::vector<EnergyChange> energy_changes_in_windows(std::span<const double> values, const EnergyWindowRule& rule = {});

struct EnergyPermutationRule {
  double alpha = 0.05;  // of each split
  std::size_t permutations = 199;
  std::size_t min_segment = 3;
  std::uint64_t seed = 0;
};

// E-divisive as published: a split stays when its distance is among the largest of series whose values were
// shuffled within the present levels, p = (hits + 1) / (permutations + 1). First indices of the later levels,
// ascending. For independent values: correlated ones are split too often. O(permutations * n^2) a split, with n^2
// numbers of memory. Throws std::invalid_argument as above, and when 1 / (permutations + 1) > alpha: no split could
// ever pass.
std::vector<std::size_t> energy_changes(std::span<const double> values, const EnergyPermutationRule& rule = {});

}  // namespace stepgauge::stats
