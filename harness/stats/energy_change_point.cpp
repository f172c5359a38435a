#include "stats/energy_change_point.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "stats/detail/energy_split.hpp"
#include "stats/detail/require.hpp"
#include "stats/detail/student_t.hpp"
#include "stats/summary.hpp"

namespace stepgauge::stats {
namespace {

// Bounds of levels: 0, the first index of each later level, the size. Ascending.
using Bounds = std::vector<std::size_t>;

void insert_sorted(Bounds& bounds, std::size_t index) {
  bounds.insert(std::lower_bound(bounds.begin(), bounds.end(), index), index);
}

double sum_of_squares(std::span<const double> level, HunterVariant variant) {
  const double squares = variance(level).value_or(0.0);
  const auto n = static_cast<double>(level.size());
  // Otava hands the standard deviation of the population to a test that expects that of a sample.
  const double share = variant == HunterVariant::corrected ? 1.0 : (n - 1.0) / n;
  return squares * (n - 1.0) * share;
}

double p_of_levels(std::span<const double> before, std::span<const double> after, const EnergyWindowRule& rule) {
  if (before.size() + after.size() < 3) return 1.0;
  const auto n = static_cast<double>(before.size());
  const auto m = static_cast<double>(after.size());
  const double pooled = (sum_of_squares(before, rule.variant) + sum_of_squares(after, rule.variant)) / (n + m - 2.0);
  const double shift = std::abs(*mean(after) - *mean(before));
  if (pooled == 0.0) return shift > 0.0 ? 0.0 : 1.0;
  const double error = std::sqrt(rule.inflation * pooled * (1.0 / n + 1.0 / m));
  return 2.0 * detail::student_t_upper_tail(shift / error, n + m - 2.0);
}

// The change at bounds[i], 0 < i < bounds.size() - 1.
EnergyChange change_at(std::span<const double> values, const Bounds& bounds, std::size_t i,
                       const EnergyWindowRule& rule) {
  const auto before = values.subspan(bounds[i - 1], bounds[i] - bounds[i - 1]);
  const auto after = values.subspan(bounds[i], bounds[i + 1] - bounds[i]);
  return {.index = bounds[i],
          .begin = bounds[i - 1],
          .end = bounds[i + 1],
          .mean_before = *mean(before),
          .mean_after = *mean(after),
          .p_value = p_of_levels(before, after, rule)};
}

std::vector<EnergyChange> changes_at(std::span<const double> values, const Bounds& bounds,
                                     const EnergyWindowRule& rule) {
  std::vector<EnergyChange> changes;
  for (std::size_t i = 1; i + 1 < bounds.size(); ++i) changes.push_back(change_at(values, bounds, i, rule));
  return changes;
}

// E-divisive in one window at the weaker level.
Bounds split_window(std::span<const double> values, const EnergyWindowRule& rule, double level) {
  Bounds bounds{0, values.size()};
  while (const auto split = detail::best_energy_split(values, bounds, rule.min_segment)) {
    Bounds with = bounds;
    insert_sorted(with, split->index);
    const auto place = std::lower_bound(with.begin(), with.end(), split->index) - with.begin();
    // Hunter takes p <= level here, p < max_p when it merges.
    if (change_at(values, with, static_cast<std::size_t>(place), rule).p_value > level) break;
    bounds = std::move(with);
  }
  return bounds;
}

Bounds split_all_windows(std::span<const double> values, const EnergyWindowRule& rule) {
  const double level = rule.max_p < 0.05 ? 10.0 * rule.max_p : rule.max_p < 0.5 ? 2.0 * rule.max_p : rule.max_p;
  Bounds all{0};
  for (std::size_t start = 0; start < values.size();) {
    const Bounds bounds =
        split_window(values.subspan(start, std::min(rule.window, values.size() - start)), rule, level);
    for (std::size_t i = 1; i + 1 < bounds.size(); ++i) all.push_back(start + bounds[i]);
    // The next window begins at the last change or behind it: the places ascend and keep their distance.
    const std::size_t last = bounds.size() > 2 ? start + bounds[bounds.size() - 2] : 0;
    start = std::max(last, start + rule.window / 2);
  }
  all.push_back(values.size());
  return all;
}

std::vector<EnergyChange>::const_iterator weakest(const std::vector<EnergyChange>& changes,
                                                  const EnergyWindowRule& rule) {
  const auto least_sure = std::max_element(changes.begin(), changes.end(),
                                           [](const auto& a, const auto& b) { return a.p_value < b.p_value; });
  if (least_sure == changes.end() || least_sure->p_value >= rule.max_p) return least_sure;
  const auto smallest = std::min_element(changes.begin(), changes.end(),
                                         [](const auto& a, const auto& b) { return a.magnitude() < b.magnitude(); });
  return smallest->magnitude() > rule.min_magnitude ? changes.end() : smallest;
}

void require_common(std::span<const double> values, std::size_t min_segment, double level) {
  detail::require_finite(values);
  detail::require(min_segment >= 1, "a segment has at least one value");
  detail::require(level > 0.0 && level < 1.0, "the level of a change must be within (0, 1)");
}

}  // namespace

double EnergyChange::magnitude() const {
  if (mean_before == mean_after) return 0.0;
  if (mean_before == 0.0 || mean_after == 0.0) return std::numeric_limits<double>::infinity();
  return std::max(std::abs(mean_after / mean_before - 1.0), std::abs(mean_before / mean_after - 1.0));
}

std::vector<EnergyChange> energy_changes_in_windows(std::span<const double> values, const EnergyWindowRule& rule) {
  require_common(values, rule.min_segment, rule.max_p);
  detail::require(rule.window >= 2, "a window has at least two values");
  detail::require(rule.min_magnitude >= 0.0, "the smallest magnitude must not be negative");
  detail::require(rule.inflation >= 1.0, "the inflation is at least 1");
  Bounds bounds = split_all_windows(values, rule);
  std::vector<EnergyChange> changes = changes_at(values, bounds, rule);
  for (auto drop = weakest(changes, rule); drop != changes.end(); drop = weakest(changes, rule)) {
    const auto dropped = drop - changes.begin();
    changes.erase(drop);
    bounds.erase(bounds.begin() + 1 + dropped);
    // The levels on both sides of the dropped change are one now: its neighbours are other changes.
    const auto first = static_cast<std::size_t>(dropped) + (rule.variant == HunterVariant::corrected ? 0 : 1);
    for (std::size_t i = std::max<std::size_t>(first, 1); i < first + 2 && i <= changes.size(); ++i) {
      changes[i - 1] = change_at(values, bounds, i, rule);
    }
  }
  return changes;
}

std::vector<std::size_t> energy_changes(std::span<const double> values, const EnergyPermutationRule& rule) {
  require_common(values, rule.min_segment, rule.alpha);
  const auto draws = static_cast<double>(rule.permutations + 1);
  detail::require(1.0 / draws <= rule.alpha, "too few permutations for this level");
  std::mt19937_64 engine(rule.seed);
  Bounds bounds{0, values.size()};
  while (const auto split = detail::best_energy_split(values, bounds, rule.min_segment)) {
    std::vector<double> shuffled(values.begin(), values.end());
    std::size_t hits = 0;
    for (std::size_t draw = 0; draw < rule.permutations; ++draw) {
      for (std::size_t i = 1; i < bounds.size(); ++i) {
        std::shuffle(shuffled.begin() + static_cast<std::ptrdiff_t>(bounds[i - 1]),
                     shuffled.begin() + static_cast<std::ptrdiff_t>(bounds[i]), engine);
      }
      hits += detail::best_energy_split(shuffled, bounds, rule.min_segment)->distance >= split->distance;
    }
    if (static_cast<double>(hits + 1) / draws > rule.alpha) break;
    insert_sorted(bounds, split->index);
  }
  return {bounds.begin() + 1, bounds.end() - 1};
}

}  // namespace stepgauge::stats
