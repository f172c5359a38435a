#include "stats/variance_components.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "series.hpp"
#include "stats/summary.hpp"

namespace stepgauge::stats {
namespace {

std::vector<Session> without_steps(const std::vector<std::vector<double>>& values) {
  std::vector<Session> sessions;
  for (const auto& session : values) {
    sessions.emplace_back();
    for (const double value : session) sessions.back().push_back({.value = value});
  }
  return sessions;
}

// Strength of paste, casks a to c of ten batches with two assays each (Davies and Goldsmith 1972).
constexpr double pastes[10][3][2] = {
    {{62.8, 62.6}, {60.1, 62.3}, {62.7, 63.1}}, {{60.0, 61.4}, {57.5, 56.9}, {61.1, 58.9}},
    {{58.7, 57.5}, {63.9, 63.1}, {65.4, 63.7}}, {{57.1, 56.4}, {56.9, 58.6}, {64.7, 64.5}},
    {{55.1, 55.1}, {54.7, 54.2}, {58.8, 57.5}}, {{63.4, 64.9}, {59.3, 58.1}, {60.5, 60.0}},
    {{62.5, 62.6}, {61.0, 58.7}, {56.9, 57.7}}, {{59.2, 59.4}, {65.2, 66.0}, {64.8, 64.1}},
    {{54.8, 54.8}, {64.0, 64.0}, {57.7, 56.8}}, {{58.3, 59.3}, {59.2, 59.2}, {58.9, 56.6}}};

// Published for both data sets with R's lme4 (Bates 2010, chapters 1 and 2), where REML and the method of moments
// agree since they are balanced; recomputed here as mean squares with mpmath.
TEST(VarianceComponents, OfDyestuff) {
  const auto components = variance_components(without_steps({{1545, 1440, 1440, 1520, 1580},
                                                             {1540, 1555, 1490, 1560, 1495},
                                                             {1595, 1550, 1605, 1510, 1560},
                                                             {1445, 1440, 1595, 1465, 1545},
                                                             {1595, 1630, 1515, 1635, 1625},
                                                             {1520, 1455, 1450, 1480, 1445}}));
  EXPECT_NEAR(*components.session, 1764.05, 1e-8);
  EXPECT_NEAR(*components.launch, 2451.25, 1e-8);
  EXPECT_FALSE(components.step);
}

TEST(VarianceComponents, OfPastes) {
  std::vector<Session> sessions;
  for (const auto& batch : pastes) {
    sessions.emplace_back();
    for (const auto& cask : batch) {
      const StepSpread spread{.variance = *variance(cask), .steps = 2};
      sessions.back().push_back({.value = *mean(cask), .steps = spread});
    }
  }
  const auto components = variance_components(sessions);
  EXPECT_NEAR(*components.step, 0.678, 1e-10);
  EXPECT_NEAR(*components.launch, 8.43366666666667, 1e-10);
  EXPECT_NEAR(*components.session, 1.65730864197531, 1e-10);
  EXPECT_EQ(components.inflation, 1.0);
}

TEST(VarianceComponents, OfUnequalSessions) {
  // By hand: within 0 + 2 + 8 over 3; between 40 / 3; (40 / 3 - 2 * 10 / 3) / (6 - 14 / 6).
  const auto components = variance_components(without_steps({{1}, {2, 4}, {}, {3, 5, 7}}));
  EXPECT_NEAR(*components.launch, 10.0 / 3.0, 1e-14);
  EXPECT_NEAR(*components.session, 20.0 / 11.0, 1e-14);
}

TEST(VarianceComponents, NegativeEstimatesAreZero) {
  const auto components = variance_components(without_steps({{1, 9}, {1, 9}}));
  EXPECT_EQ(*components.session, 0.0);
  EXPECT_EQ(*components.launch, 32.0);
  // Steps that differ far more than the launches whose means they are.
  const StepSpread wild{.variance = 100.0, .steps = 4};
  const std::vector<Session> sessions{{{1.0, wild}, {2.0, wild}}};
  EXPECT_EQ(*variance_components(sessions).launch, 0.0);
  // The session is estimated before the launch is set to 0, by hand: v = 25, launch (1 - 50) / 2 = -24.5,
  // session (16 + 24.5 - 25) / 2.
  const std::vector<Session> two{{{1.0, wild}, {2.0, wild}}, {{5.0, wild}, {6.0, wild}}};
  EXPECT_EQ(*variance_components(two).launch, 0.0);
  EXPECT_NEAR(*variance_components(two).session, 7.75, 1e-12);
}

TEST(VarianceComponents, UnknownWithoutRepetition) {
  EXPECT_FALSE(variance_components(without_steps({{1}, {2}, {3}})).launch);
  EXPECT_FALSE(variance_components(without_steps({{1, 2, 3}})).session);
  EXPECT_TRUE(variance_components(without_steps({{1, 2, 3}})).launch);
  const auto none = variance_components({});
  EXPECT_FALSE(none.session || none.launch || none.step);
}

TEST(VarianceComponents, RecoversWhatWasPutIn) {
  // Unequal sessions and launches of AR(1) steps, r1 = 0.5: f = 3. sigma_S 2, sigma_L 1, sigma_W 3.
  VarianceComponents total{.session = 0.0, .launch = 0.0, .step = 0.0};
  constexpr int rounds = 150;
  std::uint64_t seed = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Session> sessions;
    for (const std::size_t launches : {3u, 5u, 8u, 2u, 6u, 4u}) {
      const double session = test::noise(1, 0.0, 2.0, 0.0, ++seed)[0];
      sessions.emplace_back();
      for (std::size_t i = 0; i < launches; ++i) {
        const double level = session + test::noise(1, 0.0, 1.0, 0.0, ++seed)[0];
        const auto steps = test::noise(20 + 10 * i, level, 3.0, 0.5, ++seed);
        const StepSpread spread{.variance = *variance(steps), .steps = steps.size(), .inflation = 3.0};
        sessions.back().push_back({.value = *mean(steps), .steps = spread});
      }
    }
    const auto components = variance_components(sessions);
    *total.session += *components.session / rounds;
    *total.launch += *components.launch / rounds;
    *total.step += *components.step / rounds;
  }
  EXPECT_NEAR(*total.step, 9.0, 0.15);
  EXPECT_NEAR(*total.launch, 1.0, 0.12);
  EXPECT_NEAR(*total.session, 4.0, 0.8);
}

TEST(VarianceComponents, UnitAndOrderDoNotMatter) {
  auto sessions = without_steps({{1, 2, 9}, {2, 4}, {3, 5, 7}});
  const auto components = variance_components(sessions);
  std::reverse(sessions.begin(), sessions.end());
  for (auto& session : sessions) {
    std::reverse(session.begin(), session.end());
    for (auto& launch : session) launch.value = 100.0 - 2.0 * launch.value;
  }
  EXPECT_NEAR(*variance_components(sessions).launch, 4.0 * *components.launch, 1e-10);
  EXPECT_NEAR(*variance_components(sessions).session, 4.0 * *components.session, 1e-10);
}

// By hand: sqrt(2 (0.0001 + 4 * 0.0025 / 100)) = 0.02.
TEST(SdOfDifference, AddsTheStepsToTheLaunches) {
  const VarianceComponents components{.session = 9.0, .launch = 0.0001, .step = 0.0025, .inflation = 4.0};
  EXPECT_NEAR(*sd_of_difference(components, 100), 0.02, 1e-15);
  EXPECT_NEAR(*sd_of_difference({.launch = 0.0002}, 1), 0.02, 1e-15);
  EXPECT_FALSE(sd_of_difference({.step = 1.0}, 10));
  EXPECT_THROW(sd_of_difference(components, 0), std::invalid_argument);
}

TEST(StepsNeeded, LeaveAQuarterToTheSteps) {
  // 4 f sigma_W^2 / sigma_L^2 by hand: 4 * 2 * 10 / 0.5 = 160; 80.8 is rounded up.
  const auto needed = [](double launch, double step) {
    return steps_needed({.launch = launch, .step = step, .inflation = 2.0});
  };
  EXPECT_EQ(needed(0.5, 10.0), 160u);
  EXPECT_EQ(needed(0.5, 5.05), 81u);
  EXPECT_EQ(needed(0.5, 0.1), 50u);
  EXPECT_EQ(needed(0.001, 10.0), 300u);
  EXPECT_EQ(needed(0.0, 10.0), 300u);
  EXPECT_EQ(steps_needed({.launch = 0.5, .step = 10.0, .inflation = 2.0}, 200, 1000), 200u);
  EXPECT_FALSE(steps_needed({.launch = 0.5}));
  EXPECT_FALSE(steps_needed({.step = 0.5}));
}

TEST(CostOptimalSteps, IsTheKaliberaJonesRoot) {
  const VarianceComponents components{.launch = 0.5, .step = 10.0, .inflation = 2.0};
  EXPECT_NEAR(*cost_optimal_steps(components, 30.0, 0.3), std::sqrt(100.0 * 40.0), 1e-12);
  EXPECT_FALSE(cost_optimal_steps({.launch = 0.0, .step = 1.0}, 30.0, 0.3));
  EXPECT_FALSE(cost_optimal_steps({.launch = 1.0}, 30.0, 0.3));
}

TEST(VarianceComponents, BrokenContractsThrow) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<LaunchValue> broken{
      {nan, {}}, {1.0, StepSpread{-1.0, 4}}, {1.0, StepSpread{1.0, 1}}, {1.0, StepSpread{1.0, 4, 0.0}}};
  for (const LaunchValue& launch : broken) {
    EXPECT_THROW(variance_components(std::vector<Session>{{launch}}), std::invalid_argument);
  }
  const std::vector<Session> mixed{{{1.0, StepSpread{1.0, 4}}}, {{1.0, {}}}};
  EXPECT_THROW(variance_components(mixed), std::invalid_argument);
  EXPECT_THROW(steps_needed({}, 0, 10), std::invalid_argument);
  EXPECT_THROW(steps_needed({}, 20, 10), std::invalid_argument);
  EXPECT_THROW(cost_optimal_steps({}, 0.0, 1.0), std::invalid_argument);
  EXPECT_THROW(cost_optimal_steps({}, 1.0, nan), std::invalid_argument);
}

}  // namespace
}  // namespace stepgauge::stats
