#include "stats/successive.hpp"

#include <cmath>

#include "stats/detail/require.hpp"
#include "stats/summary.hpp"

namespace stepgauge::stats {
namespace {

constexpr std::size_t least_for_z = 4;  // the ratio of fewer is far from normal

double squared_differences(const std::vector<double>& values) {
  double sum = 0.0;
  for (std::size_t i = 1; i < values.size(); ++i) sum += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
  return sum;
}

}  // namespace

std::optional<Successive> successive(std::span<const std::vector<double>> sessions) {
  double squares = 0.0, plain_squares = 0.0, weights = 0.0, z_sum = 0.0;
  std::size_t differences = 0, z_sessions = 0;
  for (const auto& values : sessions) {
    detail::require_finite(values);
    if (values.size() < 2) continue;
    const auto n = static_cast<double>(values.size());
    const double own = squared_differences(values);
    const double own_plain = *variance(values) * (n - 1.0);
    squares += own;
    plain_squares += own_plain;
    differences += values.size() - 1;
    weights += 3.0 * n - 4.0;
    if (values.size() < least_for_z || own_plain <= 0.0) continue;
    // E = 1 and Var = (n - 2) / (n^2 - 1) of the ratio of independent normal values.
    z_sum += (own / (2.0 * own_plain) - 1.0) / std::sqrt((n - 2.0) / (n * n - 1.0));
    ++z_sessions;
  }
  if (differences == 0) return std::nullopt;
  const auto m = static_cast<double>(differences);
  Successive out{.differences = differences,
                 .sd = std::sqrt(squares / m),
                 .df = 2.0 * m * m / weights,
                 .plain_sd = std::sqrt(plain_squares / m),
                 .ratio = {},
                 .z = {}};
  if (plain_squares > 0.0) out.ratio = squares / (2.0 * plain_squares);
  if (z_sessions > 0) out.z = z_sum / std::sqrt(static_cast<double>(z_sessions));
  return out;
}

}  // namespace stepgauge::stats
