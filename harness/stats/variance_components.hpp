#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

// How much of the noise of one cell and metric comes from the session, the launch and the steps: the model
// y = mu + session + launch + step noise (statistics.md 3.1 and 3.2), for planning and for stored baselines. All
// values on the scale of the analysis (ln values or points); variances in its square.
namespace stepgauge::stats {

// The steps behind the value of one launch.
struct StepSpread {
  double variance;         // sample variance of the steps, n - 1
  std::size_t steps;       // at least 2
  double inflation = 1.0;  // of the variance of their mean by autocorrelation, above 0 (see autocorrelation.hpp)
};

struct LaunchValue {
  double value;
  std::optional<StepSpread> steps{};  // none where a launch has one number only, such as a latency
};

using Session = std::vector<LaunchValue>;

struct VarianceComponents {
  std::optional<double> session{};  // sigma_S^2; nullopt for fewer than two sessions
  std::optional<double> launch{};   // sigma_L^2; nullopt when no session has two launches
  std::optional<double> step{};     // sigma_W^2; nullopt without steps
  double inflation = 1.0;           // f: mean over the launches
};

// Nested one-way analysis of variance by the method of moments (Searle, Casella and McCulloch 1992, chapter 3): the
// sums of squares between launches of a session and between sessions, every launch with weight one whatever its
// steps, are set equal to their expected values. Unbiased for any numbers of launches and steps; negative estimates
// are set to 0 at the end. Within a launch, autocorrelated steps spread less about their own mean: the squares are
// divided by m - f instead of m - 1. Sessions without a launch do not count. Throws std::invalid_argument when some
// launches have steps and others do not, and on numbers outside of what is said above.
VarianceComponents variance_components(std::span<const Session> sessions);

// Standard deviation of the difference of an interleaved pair of launches of so many steps (statistics.md 3.3):
// sqrt(2 (sigma_L^2 + f sigma_W^2 / steps)). The session cancels; a drift between the slots of a pair comes on top.
// nullopt when sigma_L^2 is unknown. Throws std::invalid_argument on no step.
std::optional<double> sd_of_difference(const VarianceComponents& components, std::size_t steps);

// Steps a launch from which their noise is at most a quarter of the launch's: m >= 4 f sigma_W^2 / sigma_L^2
// (statistics.md 3.1), within [fewest, most]; most when launches do not differ. nullopt when sigma_L^2 or
// sigma_W^2 is unknown. Throws std::invalid_argument when fewest is 0 or above most.
std::optional<std::size_t> steps_needed(const VarianceComponents& components, std::size_t fewest = 50,
                                        std::size_t most = 300);

// Steps a launch that give the most certainty for the time spent (Kalibera and Jones 2013):
// m* = sqrt(launch_cost / step_cost * f sigma_W^2 / sigma_L^2); both costs in one unit, above 0. nullopt when
// sigma_L^2 or sigma_W^2 is unknown, or launches do not differ: then one launch as long as it can be is best.
std::optional<double> cost_optimal_steps(const VarianceComponents& components, double launch_cost, double step_cost);

}  // namespace stepgauge::stats
