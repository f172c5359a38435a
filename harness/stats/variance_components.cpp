#include "stats/variance_components.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stats/detail/require.hpp"

namespace stepgauge::stats {
namespace {

void require_launch(const LaunchValue& launch, bool with_steps) {
  detail::require(std::isfinite(launch.value), "values must be finite");
  detail::require(launch.steps.has_value() == with_steps, "either all launches have steps or none has");
  if (!launch.steps) return;
  detail::require(std::isfinite(launch.steps->variance) && launch.steps->variance >= 0.0,
                  "a variance must be finite and not negative");
  detail::require(launch.steps->steps >= 2, "the spread of steps needs at least two");
  detail::require(std::isfinite(launch.steps->inflation) && launch.steps->inflation > 0.0,
                  "an inflation must be finite and positive");
}

struct StepNoise {
  std::optional<double> variance;
  double inflation = 1.0;
};

StepNoise step_noise(std::span<const Session> sessions) {
  double squares = 0.0;
  double df = 0.0;
  double inflations = 0.0;
  std::size_t launches = 0;
  for (const Session& session : sessions) {
    for (const LaunchValue& launch : session) {
      if (!launch.steps) return {};
      const auto steps = static_cast<double>(launch.steps->steps);
      squares += launch.steps->variance * (steps - 1.0);
      // A launch whose steps count for less than one tells nothing of their spread.
      df += std::max(steps - launch.steps->inflation, 0.0);
      inflations += launch.steps->inflation;
      ++launches;
    }
  }
  if (launches == 0) return {};
  const double inflation = inflations / static_cast<double>(launches);
  return {df > 0.0 ? std::optional(squares / df) : std::nullopt, inflation};
}

// Variance of a launch value that its own steps explain.
double explained(const LaunchValue& launch, double step_variance) {
  if (!launch.steps) return 0.0;
  return launch.steps->inflation * step_variance / static_cast<double>(launch.steps->steps);
}

// Sums that the expected mean squares are made of.
struct Moments {
  double launches = 0.0;         // N
  double sessions = 0.0;         // K
  double squared_sizes = 0.0;    // sum n_i^2
  double within = 0.0;           // sum (y_ij - mean_i)^2
  double between = 0.0;          // sum n_i (mean_i - mean)^2
  double step_within = 0.0;      // what the steps put into within: sum (1 - 1 / n_i) v_ij
  double step_over_sizes = 0.0;  // sum v_ij / n_i
  double steps = 0.0;            // sum v_ij
};

Moments moments(std::span<const Session> sessions, double step_variance) {
  Moments sums;
  double total = 0.0;
  std::vector<std::pair<double, double>> sizes_and_means;
  for (const Session& session : sessions) {
    if (session.empty()) continue;
    const auto size = static_cast<double>(session.size());
    double sum = 0.0;
    for (const LaunchValue& launch : session) sum += launch.value;
    for (const LaunchValue& launch : session) {
      const double residual = launch.value - sum / size;
      const double noise = explained(launch, step_variance);
      sums.within += residual * residual;
      sums.step_within += (1.0 - 1.0 / size) * noise;
      sums.step_over_sizes += noise / size;
      sums.steps += noise;
    }
    sums.launches += size;
    sums.sessions += 1.0;
    sums.squared_sizes += size * size;
    total += sum;
    sizes_and_means.emplace_back(size, sum / size);
  }
  for (const auto& [size, mean] : sizes_and_means) {
    sums.between += size * (mean - total / sums.launches) * (mean - total / sums.launches);
  }
  return sums;
}

}  // namespace

VarianceComponents variance_components(std::span<const Session> sessions) {
  const auto first = std::find_if(sessions.begin(), sessions.end(), [](const Session& s) { return !s.empty(); });
  for (const Session& session : sessions) {
    for (const LaunchValue& launch : session) require_launch(launch, first->front().steps.has_value());
  }
  const StepNoise noise = step_noise(sessions);
  VarianceComponents components{.step = noise.variance, .inflation = noise.inflation};
  const Moments sums = moments(sessions, noise.variance.value_or(0.0));
  if (sums.launches <= sums.sessions) return components;
  const double launch = (sums.within - sums.step_within) / (sums.launches - sums.sessions);
  components.launch = std::max(launch, 0.0);
  if (sums.sessions < 2.0) return components;
  const double launch_share = launch * (sums.sessions - 1.0);
  const double step_share = sums.step_over_sizes - sums.steps / sums.launches;
  components.session =
      std::max((sums.between - launch_share - step_share) / (sums.launches - sums.squared_sizes / sums.launches), 0.0);
  return components;
}

std::optional<double> sd_of_difference(const VarianceComponents& components, std::size_t steps) {
  detail::require(steps > 0, "a launch has at least one step");
  if (!components.launch) return std::nullopt;
  const double step_part = components.inflation * components.step.value_or(0.0) / static_cast<double>(steps);
  return std::sqrt(2.0 * (*components.launch + step_part));
}

std::optional<std::size_t> steps_needed(const VarianceComponents& components, std::size_t fewest, std::size_t most) {
  detail::require(fewest > 0 && fewest <= most, "the fewest steps must be within [1, most]");
  if (!components.launch || !components.step) return std::nullopt;
  const double wanted = 4.0 * components.inflation * *components.step;
  if (wanted >= static_cast<double>(most) * *components.launch) return most;
  return std::max(fewest, static_cast<std::size_t>(std::ceil(wanted / *components.launch)));
}

std::optional<double> cost_optimal_steps(const VarianceComponents& components, double launch_cost, double step_cost) {
  detail::require(std::isfinite(launch_cost) && launch_cost > 0.0, "the cost of a launch must be positive");
  detail::require(std::isfinite(step_cost) && step_cost > 0.0, "the cost of a step must be positive");
  if (!components.launch || !components.step || *components.launch == 0.0) return std::nullopt;
  return std::sqrt(launch_cost / step_cost * components.inflation * *components.step / *components.launch);
}

}  // namespace stepgauge::stats
