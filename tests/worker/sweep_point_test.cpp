// The arithmetic of the all-reduce sweep: if these fail, a link looks faster or slower than it is.
#include "worker/parallel/sweep_point.hpp"

#include <gtest/gtest.h>

namespace stepgauge::worker {
namespace {

TEST(SweepPoint, BandwidthsAreNcclTestsOwn) {
  // 1 GiB in 5 ms over 2 ranks: 214.7 GB/s both ways of counting; over 8 ranks the bus carries 1.75 times as much.
  const auto two = sweep_point(1 << 30, 2, {5000, 4000}, 25), eight = sweep_point(1 << 30, 8, {5000, 4000}, 25);
  EXPECT_DOUBLE_EQ(two.at("algbw_gbps").get<double>(), 214.7483648);
  EXPECT_DOUBLE_EQ(two.at("busbw_gbps").get<double>(), 214.7483648);
  EXPECT_DOUBLE_EQ(eight.at("busbw_gbps").get<double>(), 214.7483648 * 1.75);
  EXPECT_EQ(two.at("bytes"), 1 << 30);
  EXPECT_EQ(two.at("time_us"), 5000);
  EXPECT_EQ(two.at("min_us"), 4000);
  EXPECT_EQ(two.at("iterations"), 25);
}

TEST(SweepPoint, MedianAndMinimumOverBlocks) {
  const auto odd = sweep_times({9, 1, 5}), even = sweep_times({4, 1, 2, 100});
  EXPECT_EQ(odd.median_us, 5);
  EXPECT_EQ(odd.min_us, 1);
  EXPECT_EQ(even.median_us, 3);
  EXPECT_EQ(sweep_times({7}).median_us, 7);
}

TEST(SweepPoint, SizesGrowByFourUpToTheCap) {
  EXPECT_EQ(sweep_sizes(64 << 20), (std::vector<std::int64_t>{1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20,
                                                              1 << 22, 1 << 24, 1 << 26}));
  EXPECT_EQ(sweep_sizes(1 << 30).back(), 1 << 30);
  EXPECT_TRUE(sweep_sizes(1000).empty());
}

TEST(SweepPoint, TheCapIsAThirdOfFreeMemory) {
  EXPECT_EQ(sweep_cap(true, std::nullopt), 64 << 20);
  EXPECT_EQ(sweep_cap(false, 1e6), 1 << 30);
  EXPECT_EQ(sweep_cap(true, 30), 10 << 20);
  EXPECT_EQ(sweep_cap(false, 300), 100 << 20);
}

TEST(SweepPoint, IterationsFillTheBudgetAndEveryBlockHasOne) {
  EXPECT_EQ(sweep_iterations(100, 100'000, 5), 200);
  EXPECT_EQ(sweep_iterations(1e6, 100'000, 5), 1);
  EXPECT_EQ(sweep_iterations(0.1, 1e9, 5), 1000);
  EXPECT_EQ(sweep_iterations(0, 1e9, 5), 1000);
}

}  // namespace
}  // namespace stepgauge::worker
