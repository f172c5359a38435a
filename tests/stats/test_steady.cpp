#include "stats/steady.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "series.hpp"

namespace stepgauge::stats {
namespace {

std::vector<double> launch_with_shift(std::size_t steps, std::size_t index, double fraction) {
  std::vector<double> step_ms(steps, 100.0);
  step_ms[0] = 5000.0;
  test::raise_from(step_ms, index, fraction);
  return step_ms;
}

TEST(SteadyWindow, AnEvenLaunchIsSteadyAfterItsWarmUp) {
  const auto window = find_steady_window(test::slow_start(60), 13);
  EXPECT_TRUE(window.steady);
  EXPECT_EQ(window.begin, 13u);
  EXPECT_EQ(window.end, 63u);
  EXPECT_FALSE(window.shift);
  EXPECT_TRUE(window.reason.empty());
  EXPECT_TRUE(window.note.empty());
}

TEST(SteadyWindow, NoSlowStepIsEverInsideWhereverMeasuringBegan) {
  for (const std::size_t settled_steps : {5u, 12u, 19u, 40u, 200u}) {
    const auto step_ms = test::slow_start(settled_steps);
    for (std::size_t measured_from = 0; measured_from <= 4; ++measured_from) {
      const auto window = find_steady_window(step_ms, measured_from);
      EXPECT_TRUE(window.steady);
      EXPECT_EQ(window.begin, std::max<std::size_t>(3, measured_from)) << settled_steps << " from " << measured_from;
      EXPECT_EQ(window.end, step_ms.size());
      EXPECT_EQ(last_unsettled_step(step_ms, window), 2u);
    }
  }
}

TEST(SteadyWindow, SlowLeadingStepsAreNoted) {
  EXPECT_EQ(find_steady_window(test::slow_start(40), 1).note, "2 slow steps left over from warm-up were left out");
}

TEST(SteadyWindow, TheFirstStepNeverCounts) {
  const auto window = find_steady_window(std::vector<double>(50, 100.0), 0);
  EXPECT_EQ(window.begin, 1u);
  EXPECT_EQ(window.end, 50u);
}

TEST(SteadyWindow, ALateShiftMakesTheLaunchUnsteadyAndSaysWhy) {
  const auto window = find_steady_window(launch_with_shift(111, 81, 0.042), 11);
  EXPECT_FALSE(window.steady);
  EXPECT_EQ(window.begin, 81u);
  EXPECT_EQ(window.end, 111u);
  ASSERT_TRUE(window.shift);
  EXPECT_EQ(window.shift->index, 81u);
  EXPECT_NEAR(window.shift->percent, 4.2, 1e-9);
  EXPECT_EQ(window.reason, "the mean moved by +4.2 % at step 81, 30 of 100 steps are stable");
}

TEST(SteadyWindow, AFallOfTheMeanIsNegative) {
  const auto window = find_steady_window(launch_with_shift(111, 91, -0.05), 11);
  EXPECT_FALSE(window.steady);
  EXPECT_EQ(window.reason, "the mean moved by -5.0 % at step 91, 20 of 100 steps are stable");
}

TEST(SteadyWindow, TheSizeOfAShiftIsBetweenTrimmedMeans) {
  // Later level 201 .. 212 in an order without a trend, less one value at either end: 206.5; earlier level 100.
  std::vector<double> step_ms(41, 100.0);
  for (const double ms : {207, 201, 210, 204, 212, 203, 209, 202, 211, 205, 208, 206}) step_ms.push_back(ms);
  step_ms[45] = 9999.0;  // in place of the largest, 212
  const auto window = find_steady_window(step_ms, 1);
  ASSERT_TRUE(window.shift);
  EXPECT_EQ(window.shift->index, 41u);
  EXPECT_NEAR(window.shift->percent, 106.5, 1e-9);
}

TEST(SteadyWindow, HalfOfTheMeasuredStepsIsEnough) {
  const auto enough = find_steady_window(launch_with_shift(111, 61, 0.05), 11);
  EXPECT_TRUE(enough.steady);
  EXPECT_EQ(enough.begin, 61u);
  EXPECT_TRUE(enough.shift);
  EXPECT_TRUE(enough.reason.empty());
  EXPECT_FALSE(find_steady_window(launch_with_shift(111, 62, 0.05), 11).steady);
}

TEST(SteadyWindow, ShiftsOfTwoPercentAndLessAreKept) {
  EXPECT_FALSE(find_steady_window(launch_with_shift(111, 81, 0.019), 11).shift);
  EXPECT_EQ(find_steady_window(launch_with_shift(111, 81, 0.019), 11).begin, 11u);
  EXPECT_TRUE(find_steady_window(launch_with_shift(111, 81, 0.021), 11).shift);
}

TEST(SteadyWindow, ASmallChangeDoesNotHideALargeOne) {
  // +0.5 % halfway explains the ranks best, but the step that counts is the one near either end.
  auto late = launch_with_shift(451, 201, 0.005);
  test::raise_from(late, 401, 0.05);
  EXPECT_EQ(find_steady_window(late, 1).begin, 401u);

  std::vector<double> early(451, 105.0);
  test::raise_from(early, 51, -0.05);
  test::raise_from(early, 251, 0.005);
  const auto window = find_steady_window(early, 1);
  EXPECT_EQ(window.begin, 51u);
  EXPECT_TRUE(window.steady);
}

TEST(SteadyWindow, TheLastOfSeveralLevelsIsKept) {
  auto step_ms = launch_with_shift(151, 41, 0.10);
  test::raise_from(step_ms, 101, -0.08);
  const auto window = find_steady_window(step_ms, 1);
  EXPECT_EQ(window.begin, 101u);
  EXPECT_NEAR(window.shift->percent, -8.0, 1e-9);
  EXPECT_FALSE(window.steady);
}

TEST(SteadyWindow, FewStepsAreSteadyWithANote) {
  auto step_ms = launch_with_shift(20, 11, 0.5);
  const auto window = find_steady_window(step_ms, 1);
  EXPECT_TRUE(window.steady);
  EXPECT_EQ(window.begin, 1u);
  EXPECT_EQ(window.note, "19 measured steps are too few to look for a shift of the mean (20 are needed)");
  step_ms.push_back(150.0);
  EXPECT_EQ(find_steady_window(step_ms, 1).begin, 11u);
}

TEST(SteadyWindow, AWarmUpOverMostOfTheMeasuredStepsIsUnsteadyWithoutAShift) {
  std::vector<double> step_ms(10, 1000.0);
  step_ms.insert(step_ms.end(), 5, 120.0);
  step_ms.insert(step_ms.end(), 7, 100.0);
  const auto window = find_steady_window(step_ms, 1);
  EXPECT_FALSE(window.steady);
  EXPECT_EQ(window.begin, 15u);
  EXPECT_FALSE(window.shift);
  EXPECT_EQ(window.reason, "warm-up was not over at step 1, 7 of 21 steps are stable");
}

TEST(SteadyWindow, NothingMeasuredIsNotSteady) {
  for (const auto& step_ms : {std::vector<double>{}, std::vector<double>{5.0}, std::vector<double>{5.0, 1.0}}) {
    const auto window = find_steady_window(step_ms, step_ms.size());
    EXPECT_FALSE(window.steady);
    EXPECT_EQ(window.begin, window.end);
    EXPECT_EQ(window.reason, "no step was measured");
    EXPECT_FALSE(last_unsettled_step(step_ms, window));
  }
}

TEST(SteadyWindow, NoiseAloneIsSteadyAndAKnownShiftIsNot) {
  constexpr int launches = 400;
  for (const double r1 : {0.0, 0.5}) {
    int kept_whole = 0;
    int found = 0;
    for (int seed = 0; seed < launches; ++seed) {
      auto step_ms = test::noise(101, 100.0, 5.0, r1, seed);
      kept_whole += !find_steady_window(step_ms, 1).shift.has_value();
      test::raise_from(step_ms, 61, 0.2);
      const auto window = find_steady_window(step_ms, 1);
      found += !window.steady && window.shift->index >= 59 && window.shift->index <= 63;
    }
    EXPECT_GE(kept_whole, launches * 95 / 100) << "r1 " << r1;
    EXPECT_GE(found, launches * 90 / 100) << "r1 " << r1;
  }
}

TEST(SlowStepLimit, IsFivePercentOrThreeRobustDeviations) {
  EXPECT_DOUBLE_EQ(*slow_step_limit_ms(std::vector<double>(5, 100.0)), 105.0);
  EXPECT_DOUBLE_EQ(*slow_step_limit_ms(std::vector<double>{90.0, 90.0, 100.0, 110.0, 110.0}), 100.0 + 3 * 14.826);
  EXPECT_FALSE(slow_step_limit_ms(std::vector<double>{}));
}

TEST(LastUnsettledStep, IsTheLastSlowStepBeforeTheWindow) {
  auto step_ms = test::slow_start(60);
  step_ms[8] = 400.0;   // a recompilation during warm-up
  step_ms[40] = 900.0;  // an outlier inside the window is not warm-up
  EXPECT_EQ(last_unsettled_step(step_ms, find_steady_window(step_ms, 13)), 8u);
  step_ms[8] = 104.9;  // within 5 %
  EXPECT_EQ(last_unsettled_step(step_ms, find_steady_window(step_ms, 13)), 2u);
}

TEST(LastUnsettledStep, AFastFirstStepIsStillTheFirstStep) {
  const std::vector<double> step_ms(50, 100.0);
  EXPECT_EQ(last_unsettled_step(step_ms, find_steady_window(step_ms, 11)), 0u);
}

TEST(Steady, BrokenContractsThrow) {
  std::vector<double> step_ms(30, 100.0);
  EXPECT_THROW(find_steady_window(step_ms, 31), std::invalid_argument);
  EXPECT_THROW(last_unsettled_step(step_ms, {.begin = 5, .end = 31}), std::invalid_argument);
  EXPECT_THROW(last_unsettled_step(step_ms, {.begin = 6, .end = 5}), std::invalid_argument);
  for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    step_ms[0] = bad;
    EXPECT_THROW(find_steady_window(step_ms, 1), std::invalid_argument);
    EXPECT_THROW(last_unsettled_step(step_ms, {.begin = 1, .end = 30}), std::invalid_argument);
  }
  EXPECT_THROW(slow_step_limit_ms(std::vector<double>{std::numeric_limits<double>::infinity()}), std::invalid_argument);
}

}  // namespace
}  // namespace stepgauge::stats
