#include "contract/settled.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "series.hpp"

namespace stepgauge {
namespace {

// Steps until settled() is true, or the length of the series when it never is.
std::size_t steps_until_settled(std::span<const double> warmup_ms, std::size_t block) {
  std::size_t steps = 0;
  while (steps < warmup_ms.size() && !settled(warmup_ms.first(steps), block)) ++steps;
  return steps;
}

TEST(Settled, WaitsUntilFastStepsFillAllThreeBlocks) {
  const auto launch_ms = test::slow_start(200);
  const auto warmup_ms = std::span(launch_ms).subspan(1);  // 60 s, 1 s, then 0.1 s
  for (const std::size_t block : {1u, 3u, 5u, 10u}) {
    EXPECT_EQ(steps_until_settled(warmup_ms, block), 2 + 3 * block) << "block " << block;
  }
}

TEST(Settled, ALateRecompilationStartsTheWaitAgain) {
  std::vector<double> warmup_ms(100, 100.0);
  warmup_ms[10] = 5000.0;
  EXPECT_EQ(steps_until_settled(warmup_ms, 5), 26u);
}

TEST(Settled, BlocksMustAgreeWithinTheTolerance) {
  const auto with_last_block = [](double level) {
    std::vector<double> warmup_ms(10, 100.0);
    warmup_ms.insert(warmup_ms.end(), 5, level);
    return warmup_ms;
  };
  EXPECT_TRUE(settled(with_last_block(101.9), 5));
  EXPECT_FALSE(settled(with_last_block(102.1), 5));
  EXPECT_TRUE(settled(with_last_block(98.1), 5));
  EXPECT_FALSE(settled(with_last_block(98.0), 5));
  EXPECT_TRUE(settled(with_last_block(104.0), 5, 0.05));
}

TEST(Settled, AllThreeBlocksMustAgreeNotOnlyTheLastTwo) {
  std::vector<double> warmup_ms(5, 110.0);
  warmup_ms.insert(warmup_ms.end(), 10, 100.0);
  EXPECT_FALSE(settled(warmup_ms, 5));
  warmup_ms.insert(warmup_ms.end(), 5, 100.0);
  EXPECT_TRUE(settled(warmup_ms, 5));
}

TEST(Settled, NoisyBlocksMayDifferByTwoStandardErrors) {
  // Blocks m-20 m-10 m m+10 m+20 with m = 100, 100, 100 + x: MAD 10 about the block medians, so two standard
  // errors are 2 * 1.2533 * 14.826 / sqrt(5) = 16.62.
  const auto with_last_median = [](double last) {
    std::vector<double> warmup_ms;
    for (const double level : {100.0, 100.0, last}) {
      for (const double offset : {-20.0, -10.0, 0.0, 10.0, 20.0}) warmup_ms.push_back(level + offset);
    }
    return warmup_ms;
  };
  EXPECT_TRUE(settled(with_last_median(116.5), 5));
  EXPECT_FALSE(settled(with_last_median(116.8), 5));
}

TEST(Settled, ASlowStepIsStrayOnlyBeyondTheNoise) {
  // Blocks 40 60 100 140 160: median 100, MAD 40, so four robust deviations are 237 and half of the median is 50.
  const auto with_step = [](double ms) {
    std::vector<double> warmup_ms;
    for (int block = 0; block < 3; ++block) warmup_ms.insert(warmup_ms.end(), {40.0, 60.0, 100.0, 140.0, 160.0});
    warmup_ms[9] = ms;
    return warmup_ms;
  };
  EXPECT_TRUE(settled(with_step(330.0), 5));
  EXPECT_FALSE(settled(with_step(340.0), 5));
}

TEST(Settled, ASteadyDescentIsNotNoise) {
  std::vector<double> warmup_ms;
  for (int i = 0; i < 60; ++i) warmup_ms.push_back(100.0 - i);
  EXPECT_EQ(steps_until_settled(warmup_ms, 5), warmup_ms.size());
}

TEST(Settled, NoisySeriesSettleSoon) {
  for (const double r1 : {0.0, 0.5}) {
    for (const double sd : {1.0, 10.0, 20.0}) {
      for (int seed = 0; seed < 200; ++seed) {
        auto warmup_ms = test::noise(100, 100.0, sd, r1, seed);
        for (double& ms : warmup_ms) ms = std::abs(ms);
        EXPECT_LT(steps_until_settled(warmup_ms, 5), 80u) << "r1 " << r1 << ", sd " << sd << ", seed " << seed;
      }
    }
  }
}

TEST(Settled, TooFewStepsAreNotSettled) {
  EXPECT_FALSE(settled(std::vector<double>{}, 5));
  EXPECT_FALSE(settled(std::vector<double>(14, 100.0), 5));
  EXPECT_TRUE(settled(std::vector<double>(15, 100.0), 5));
  EXPECT_FALSE(settled(std::vector<double>(15, 100.0), std::numeric_limits<std::size_t>::max() / 2));
}

TEST(Settled, BrokenContractsThrow) {
  const std::vector<double> even(30, 100.0);
  EXPECT_THROW(settled(even, 0), std::invalid_argument);
  EXPECT_THROW(settled(even, 5, -0.1), std::invalid_argument);
  for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(settled(std::vector<double>{bad}, 5), std::invalid_argument);
  }
}

}  // namespace
}  // namespace stepgauge
