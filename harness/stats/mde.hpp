#pragma once

#include <cstddef>
#include <optional>

#include "stats/test_plan.hpp"
#include "stats/welch.hpp"

// What a one-sided two-sample test can see, and the launches that it needs (statistics.md 3.5 item 5, with
// Welch's standard error and df in place of the paired ones). Effects, spreads and the margin share one scale
// (see stats::Scale).
namespace stepgauge::stats {

// One arm: standard deviation between launches, and launches.
struct Arm {
  double sd = 0.0;
  std::size_t n = 0;
};

// Smallest true difference that the test finds with the wanted power:
// margin + (t_{1 - alpha, df} + t_{power, df}) * standard error. The margin itself when neither arm has spread.
// nullopt when an arm has fewer than two launches. Throws std::invalid_argument on a negative or not finite
// sd, or on alpha or power outside (0, 1).
std::optional<double> minimum_detectable_effect(const Arm& base, const Arm& head, const TestPlan& plan = {});

// The same for a comparison that was made; nullopt when that has neither a standard error nor is exact.
std::optional<double> minimum_detectable_effect(const TwoSample& sample, const TestPlan& plan = {});

// Fewest launches a side (at least 2) with which minimum_detectable_effect <= effect when both arms have this
// sd; nullopt when that takes more than cap, or the effect is not above the margin.
std::optional<std::size_t> launches_needed(double sd, double effect, const TestPlan& plan = {}, std::size_t cap = 1000);

}  // namespace stepgauge::stats
