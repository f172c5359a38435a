// Ranks on one clock. Wrong here, and the wrong rank is named as the straggler.
#include "trace/align.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <stdexcept>

#include "timelines.hpp"

namespace stepgauge::trace {
namespace {

using test::us;

constexpr std::array<std::int64_t, 4> clock_error{0, 5'000'123, -7'000'456, 1'780'000'000'000'000'000};

/// Four ranks on clocks that are off by `clock_error`, twenty collectives. Rank 2 comes last by 300 us each time, the
/// others within 10 us of each other; ends differ by at most `noise` ns.
std::vector<RankTimeline> four_ranks(std::int64_t noise) {
  std::mt19937_64 random(3);
  std::uniform_int_distribution<std::int64_t> end_noise(-noise, noise);
  std::vector<RankTimeline> ranks(4);
  for (int rank = 0; rank < 4; ++rank) {
    auto& timeline = ranks[static_cast<std::size_t>(rank)];
    timeline.rank = rank;
    timeline.world_size = 4;
    const auto off = clock_error[static_cast<std::size_t>(rank)];
    for (std::int64_t i = 0; i < 20; ++i) {
      const auto begin = i * 1000 * us + (rank == 2 ? 300 * us : us * 3 * rank) + off;
      const auto end = i * 1000 * us + 500 * us + off + end_noise(random);
      timeline.collectives.push_back(
          {i, "all_reduce", 4096, static_cast<std::int32_t>(i % 4), {begin - us, begin}, {begin, end}});
    }
  }
  return ranks;
}

TEST(Align, FindsClocksThatAreOff) {
  const auto alignment = align(four_ranks(0));
  ASSERT_TRUE(alignment);
  EXPECT_EQ(alignment->collectives, 20u);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(alignment->shift[rank], -clock_error[rank]);
    EXPECT_EQ(alignment->error[rank], 0);
  }
}

TEST(Align, SaysHowUncertainItIs) {
  const auto alignment = align(four_ranks(2 * us));
  ASSERT_TRUE(alignment);
  EXPECT_EQ(alignment->shift[0], 0);
  EXPECT_EQ(alignment->error[0], 0);
  for (std::size_t rank = 1; rank < 4; ++rank) {
    EXPECT_LE(std::abs(alignment->shift[rank] + clock_error[rank]), 2 * us);
    EXPECT_GT(alignment->error[rank], us / 5);
    EXPECT_LT(alignment->error[rank], 4 * us);
  }
}

TEST(Align, OneOddCollectiveMovesNothing) {
  auto ranks = four_ranks(0);
  ranks[1].collectives[5].device.end += 1'000'000'000;
  const auto alignment = align(ranks);
  ASSERT_TRUE(alignment);
  EXPECT_EQ(alignment->shift[1], -clock_error[1]);
  EXPECT_EQ(alignment->error[1], 0);
}

TEST(Align, AnEvenNumberTakesTheMiddleOfTheMiddleTwo) {
  std::vector<RankTimeline> ranks(2);
  for (std::int64_t i = 0; i < 4; ++i) {
    ranks[0].collectives.push_back({i, "all_reduce", 1, -1, {}, {0, 1000}});
    ranks[1].collectives.push_back({i, "all_reduce", 1, -1, {}, {0, 1000 - i * i}});  // behind by 0, 1, 4, 9
  }
  const auto alignment = align(ranks);
  ASSERT_TRUE(alignment);
  EXPECT_EQ(alignment->shift[1], 2);
  EXPECT_EQ(alignment->error[1], 2);  // off by 2, 1, 2, 7
}

TEST(Align, OnlyTheSameCollectivesSeenOnTheDeviceOfEveryRankCount) {
  auto ranks = four_ranks(0);
  ranks[1].collectives.erase(ranks[1].collectives.begin());
  ranks[2].collectives[1].device = {};
  ranks[3].collectives[2].kind = "broadcast";
  ranks[0].collectives[3].sequence = 4;  // another process group's: which of the two is meant?
  const auto alignment = align(ranks);
  ASSERT_TRUE(alignment);
  EXPECT_EQ(alignment->collectives, 15u);
  EXPECT_EQ(skews(ranks).size(), 16u);  // the one not seen on a device is compared by the host's calls
}

TEST(Align, TwoCollectivesAreTooFew) {
  auto ranks = four_ranks(0);
  ranks[3].collectives.resize(2);
  EXPECT_FALSE(align(ranks));
  EXPECT_FALSE(align({}));
  EXPECT_TRUE(skews({}).empty());
}

TEST(Align, ApplyMovesEveryTimeAndSaysByHowMuch) {
  auto ranks = four_ranks(0);
  auto& late = ranks[1];
  test::add(late, {10, 20}, "k");
  test::add_call(late, {1, 2}, "cudaLaunchKernel", 1);
  test::add_step(late, {0, 100});
  late.phases.push_back({{1, 5}, "forward"});
  late.device_phases.push_back({{2, 6}, "forward"});
  late.counters.push_back({30, "memory allocated (MiB)", 1.0});
  late.collectives.push_back({99, "barrier", 0, -1, {3, 4}, {}});
  const auto alignment = align(ranks);
  ASSERT_TRUE(alignment);
  trace::apply(*alignment, ranks);
  const auto by = -clock_error[1];
  EXPECT_EQ(late.clock_shift, by);
  EXPECT_EQ(late.activities[0].time, (Interval{10 + by, 20 + by}));
  EXPECT_EQ(late.calls[0].time, (Interval{1 + by, 2 + by}));
  EXPECT_EQ(late.steps[0].time, (Interval{by, 100 + by}));
  EXPECT_EQ(late.phases[0].time, (Interval{1 + by, 5 + by}));
  EXPECT_EQ(late.device_phases[0].time, (Interval{2 + by, 6 + by}));
  EXPECT_EQ(late.counters[0].at, 30 + by);
  EXPECT_EQ(late.collectives.back().host, (Interval{3 + by, 4 + by}));
  EXPECT_EQ(late.collectives.back().device, Interval{});  // still not seen
  EXPECT_EQ(align(ranks)->shift, (std::vector<std::int64_t>{0, 0, 0, 0}));
  ranks.pop_back();
  EXPECT_THROW(trace::apply(*alignment, ranks), std::logic_error);
}

TEST(Skews, NameTheRankThatCameLast) {
  auto ranks = four_ranks(0);
  trace::apply(*align(ranks), ranks);
  const auto found = skews(ranks);
  ASSERT_EQ(found.size(), 20u);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].sequence, static_cast<std::int64_t>(i));
    EXPECT_EQ(found[i].kind, "all_reduce");
    EXPECT_EQ(found[i].bytes, 4096);
    EXPECT_EQ(found[i].bucket, static_cast<std::int32_t>(i % 4));
    EXPECT_EQ(found[i].last_rank, 2);
    EXPECT_EQ(found[i].entry_skew, 300 * us);
    EXPECT_EQ(found[i].longest, 500 * us);
    EXPECT_EQ(found[i].shortest, 200 * us);
  }
}

TEST(Skews, TheLongestWaitIsOfTheRankThatCameFirst) {
  auto ranks = four_ranks(0);
  trace::apply(*align(ranks), ranks);
  ranks[1].collectives[0].device.begin -= 50 * us;
  const auto first = skews(ranks).front();
  EXPECT_EQ(first.longest, 547 * us);
  EXPECT_EQ(first.entry_skew, 347 * us);
}

TEST(Skews, RanksAreNamedByTheirNumberNotTheirPlace) {
  auto ranks = four_ranks(0);
  for (auto& timeline : ranks) timeline.rank += 8;
  trace::apply(*align(ranks), ranks);
  EXPECT_EQ(skews(ranks).front().last_rank, 10);
}

}  // namespace
}  // namespace stepgauge::trace
