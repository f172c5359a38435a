#include "stats/change_point.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/detail/require.hpp"
#include "stats/detail/student_t.hpp"

namespace stepgauge::stats {
namespace {

constexpr double max_r1 = 0.9;
constexpr double sum_rounding = 1e-12;  // relative: sums of squares below are 0

// Ranks from 1; equal values share the mean of their ranks.
std::vector<double> mid_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    const double shared = 0.5 * static_cast<double>(first + last) + 1.0;
    for (; first <= last; ++first) ranks[order[first]] = shared;
  }
  return ranks;
}

struct Place {
  std::size_t index = 0;
  double between = 0.0;  // between-part sum of squares
};

// values are centred on 0.
Place largest_between(std::span<const double> centred, std::size_t min_segment) {
  const std::size_t n = centred.size();
  Place best;
  double running = 0.0;
  for (std::size_t k = 1; k + min_segment <= n; ++k) {
    running += centred[k - 1];
    if (k < min_segment) continue;
    const double between =
        running * running * static_cast<double>(n) / (static_cast<double>(k) * static_cast<double>(n - k));
    if (between > best.between) best = {k, between};
  }
  return best;
}

// Centres each part on its own mean.
void remove_levels(std::span<double> values, std::size_t index) {
  for (const auto part : {values.first(index), values.subspan(index)}) {
    const double level = std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(part.size());
    for (double& value : part) value -= level;
  }
}

double sum_of_squares(std::span<const double> values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

// Takes structure out of values that have mean 0: a second level when that explains most of them, else a
// slope.
void remove_structure(std::span<double> values, std::size_t min_segment) {
  const auto n = static_cast<double>(values.size());
  const double middle = 0.5 * (n - 1.0);
  const double x_squares = n * (n * n - 1.0) / 12.0;
  double product = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) product += (static_cast<double>(i) - middle) * values[i];
  if (values.size() / 2 >= min_segment) {
    const Place place = largest_between(values, min_segment);
    if (place.between > std::max(0.5 * sum_of_squares(values), product * product / x_squares)) {
      remove_levels(values, place.index);
      return;
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] -= product / x_squares * (static_cast<double>(i) - middle);
  }
}

// Lag-1 autocorrelation of the noise, from residuals about two levels and the structure inside either part: a
// drift or a further change must not pass for correlated noise. E[r1] = rho - 2 (2 + 4 rho) / n, solved for
// rho.
double noise_r1(std::vector<double> residuals, std::size_t index, std::size_t min_segment) {
  const double before = sum_of_squares(residuals);
  remove_structure(std::span(residuals).first(index), min_segment);
  remove_structure(std::span(residuals).subspan(index), min_segment);
  const double squares = sum_of_squares(residuals);
  if (squares <= sum_rounding * before) return 0.0;
  double products = 0.0;
  for (std::size_t i = 1; i < residuals.size(); ++i) products += residuals[i - 1] * residuals[i];
  const auto n = static_cast<double>(residuals.size());
  return std::clamp((products / squares + 4.0 / n) / (1.0 - 8.0 / std::max(n, 16.0)), 0.0, max_r1);
}

void split_recursively(std::span<const double> values, std::size_t offset, const ChangePointRule& rule,
                       std::vector<std::size_t>& changes) {
  const auto split = best_split(values, rule.min_segment);
  if (!split || split->p_value >= rule.alpha) return;
  split_recursively(values.first(split->index), offset, rule, changes);
  changes.push_back(offset + split->index);
  split_recursively(values.subspan(split->index), offset + split->index, rule, changes);
}

}  // namespace

std::optional<Split> best_split(std::span<const double> values, std::size_t min_segment) {
  detail::require(min_segment >= 2, "a segment has at least two values");
  detail::require_finite(values);
  if (values.size() / 2 < min_segment) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  std::vector<double> ranks = mid_ranks(values);
  for (double& rank : ranks) rank -= 0.5 * (n + 1.0);
  const Place place = largest_between(ranks, min_segment);
  if (place.between == 0.0) return std::nullopt;

  remove_levels(ranks, place.index);
  const double within = sum_of_squares(ranks);
  if (within <= sum_rounding * place.between) return Split{place.index, 0.0};
  const double r1 = noise_r1(ranks, place.index, min_segment);
  const double inflation = (1.0 + r1) / (1.0 - r1);
  const double df = std::max(n / inflation - 2.0, 1.0);
  const double t = std::sqrt(place.between / (within / (n - 2.0)) / inflation);
  const double places = (n - 2.0 * static_cast<double>(min_segment) + 1.0) / inflation;
  const double p_value = 2.0 * detail::student_t_upper_tail(t, df) * std::max(places, 1.0);
  return Split{place.index, std::min(p_value, 1.0)};
}

std::vector<std::size_t> find_level_changes(std::span<const double> values, const ChangePointRule& rule) {
  detail::require(rule.min_segment >= 2, "a segment has at least two values");
  detail::require(rule.alpha > 0.0 && rule.alpha < 1.0, "alpha must be within (0, 1)");
  detail::require_finite(values);
  std::vector<std::size_t> changes;
  split_recursively(values, 0, rule, changes);
  return changes;
}

}  // namespace stepgauge::stats
