#include "stats/detail/energy_split.hpp"

#include <cmath>

namespace stepgauge::stats::detail {
namespace {

// Sums of |x_i - x_k| over stretches of i, for each k.
class Distances {
 public:
  explicit Distances(std::span<const double> values) : n_(values.size()), prefix_(n_ * (n_ + 1)) {
    for (std::size_t k = 0; k < n_; ++k) {
      for (std::size_t i = 0; i < n_; ++i) at(k, i + 1) = at(k, i) + std::abs(values[i] - values[k]);
    }
  }

  // Over i in [begin, end).
  double sum(std::size_t k, std::size_t begin, std::size_t end) const {
    return prefix_[k * (n_ + 1) + end] - prefix_[k * (n_ + 1) + begin];
  }

 private:
  double& at(std::size_t k, std::size_t i) { return prefix_[k * (n_ + 1) + i]; }

  std::size_t n_;
  std::vector<double> prefix_;
};

// Sums over pairs: across both parts, within the n earlier values, within the m later ones.
double scaled_distance(double across, double within_earlier, double within_later, double n, double m) {
  double q = 2.0 / (n + m) * across;
  if (n > 1.0) q -= 2.0 * m / ((n + m) * (n - 1.0)) * within_earlier;
  if (m > 1.0) q -= 2.0 * n / ((n + m) * (m - 1.0)) * within_later;
  return q;
}

}  // namespace

std::optional<EnergySplit> best_energy_split(std::span<const double> values, std::size_t min_segment) {
  const std::size_t size = values.size();
  if (size / 2 < min_segment) return std::nullopt;
  const Distances distances(values);
  std::optional<EnergySplit> best;
  double within_earlier = 0.0;
  for (std::size_t tau = 1; tau + min_segment <= size; ++tau) {
    within_earlier += distances.sum(tau - 1, 0, tau - 1);
    if (tau < min_segment) continue;
    double across = 0.0;
    double within_later = 0.0;
    for (std::size_t kappa = tau + 1; kappa <= size; ++kappa) {
      across += distances.sum(kappa - 1, 0, tau);
      within_later += distances.sum(kappa - 1, tau, kappa - 1);
      if (kappa - tau < min_segment) continue;
      const double distance = scaled_distance(across, within_earlier, within_later, static_cast<double>(tau),
                                              static_cast<double>(kappa - tau));
      if (!best || distance > best->distance) best = EnergySplit{tau, distance};
    }
  }
  return best;
}

std::optional<EnergySplit> best_energy_split(std::span<const double> values, const std::vector<std::size_t>& bounds,
                                             std::size_t min_segment) {
  std::optional<EnergySplit> best;
  for (std::size_t i = 1; i < bounds.size(); ++i) {
    auto split = best_energy_split(values.subspan(bounds[i - 1], bounds[i] - bounds[i - 1]), min_segment);
    if (!split || (best && split->distance <= best->distance)) continue;
    split->index += bounds[i - 1];
    best = split;
  }
  return best;
}

}  // namespace stepgauge::stats::detail
