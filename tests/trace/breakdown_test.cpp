// Where the time of a step went. Wrong here, and every stall and overlap that is reported is (cases C23, C26).
#include "trace/breakdown.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bitset>
#include <cmath>
#include <iostream>
#include <random>
#include <stdexcept>

#include "timelines.hpp"

namespace stepgauge::trace {
namespace {

using test::add;
using test::add_step;
using test::ms;
using test::us;

const std::string nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

/// Case C23: compute 0 .. 100 ms on one stream, NCCL 50 .. 120 ms on another, step 0 .. 130 ms.
RankTimeline two_streams() {
  RankTimeline timeline;
  timeline.world_size = 2;
  add_step(timeline, {0, 130 * ms});
  add(timeline, {0, 100 * ms}, "gemm", 1);
  add(timeline, {50 * ms, 120 * ms}, nccl, 2);
  return timeline;
}

void expect_c23(const Breakdown& step) {
  EXPECT_EQ(step.window, 130 * ms);
  EXPECT_EQ(step.window - step.idle, 120 * ms);
  EXPECT_EQ(step.idle, 10 * ms);
  EXPECT_EQ(step.compute, 100 * ms);
  EXPECT_EQ(step.communication, 70 * ms);
  EXPECT_EQ(step.overlap, 50 * ms);
  EXPECT_EQ(step.exposed_comm, 20 * ms);
  EXPECT_EQ(step.exposed_copy, 0);
  EXPECT_DOUBLE_EQ(step.stall_ratio(), 30.0 / 130.0);
  EXPECT_DOUBLE_EQ(step.idle_ratio(), 10.0 / 130.0);
  EXPECT_DOUBLE_EQ(step.exposed_comm_ratio(), 20.0 / 130.0);
  EXPECT_DOUBLE_EQ(step.exposed_copy_ratio(), 0.0);
  ASSERT_TRUE(step.overlap_ratio());
  EXPECT_DOUBLE_EQ(*step.overlap_ratio(), 50.0 / 70.0);
}

TEST(Breakdown, TwoBusyStreamsAreNotCountedTwice) {
  const auto breakdown = break_down(two_streams());
  expect_c23(breakdown.total);
  EXPECT_EQ(breakdown.total.duration_sum, 170 * ms);
  EXPECT_DOUBLE_EQ(breakdown.total.stall_article(), -40.0 / 130.0);
}

TEST(Breakdown, NestedIdenticalTouchingAndEmptyRecordsOutOfOrderChangeNothing) {
  auto timeline = two_streams();
  timeline.activities.erase(timeline.activities.begin());
  add(timeline, {125 * ms, 125 * ms}, "gemm", 3);
  add(timeline, {60 * ms, 100 * ms}, "gemm", 1);
  add(timeline, {10 * ms, 20 * ms}, "gemm", 3);
  add(timeline, {0, 60 * ms}, "gemm", 1);
  add(timeline, {0, 60 * ms}, "gemm", 4);
  add(timeline, {50 * ms, 120 * ms}, nccl, 5);
  expect_c23(break_down(timeline).total);
  test::sort_activities(timeline);
  expect_c23(break_down(timeline).total);
  EXPECT_EQ(sanitize(timeline), 1);
  expect_c23(break_down(timeline).total);
}

TEST(Breakdown, CopiesAreExposedOnlyWhereNothingElseRuns) {
  auto timeline = two_streams();
  add(timeline, {90 * ms, 125 * ms}, "Memcpy HtoD", 3, ActivityKind::memcpy);
  add(timeline, {124 * ms, 126 * ms}, "Memset (Device)", 4, ActivityKind::memset);
  const auto total = break_down(timeline).total;
  EXPECT_EQ(total.copy, 36 * ms);
  EXPECT_EQ(total.exposed_copy, 6 * ms);
  EXPECT_EQ(total.idle, 4 * ms);
  EXPECT_EQ(total.exposed_comm, 20 * ms);
  EXPECT_EQ(total.kernels, 2);
  EXPECT_EQ(total.copies, 2);
}

TEST(Breakdown, WithoutCommunicationOverlapIsNotApplicable) {
  auto timeline = two_streams();
  timeline.world_size = 1;
  timeline.activities.pop_back();
  const auto breakdown = break_down(timeline);
  EXPECT_EQ(breakdown.total.overlap_ratio(), std::nullopt);
  EXPECT_DOUBLE_EQ(breakdown.total.exposed_comm_ratio(), 0.0);
  EXPECT_TRUE(unreliable_because(timeline, breakdown, 0).empty());
  timeline.foreign = true;
  EXPECT_TRUE(unreliable_because(timeline, breakdown, 0).empty());
}

TEST(Breakdown, EverySpellingOfNcclIsCommunicationAndSynchronisationIsNothing) {
  RankTimeline timeline;
  timeline.world_size = 2;
  add_step(timeline, {0, 100 * us});
  std::int64_t at = 0;
  for (const auto* name : {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)",
                           "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                           "nccldevkernel_allreduce_sum_f32_ring_ll", "one_shot_all_reduce_kernel"}) {
    add(timeline, {at, at + 10 * us}, name);
    at += 10 * us;
  }
  add(timeline, {at, at + 10 * us}, "Memcpy DtoD", 7, ActivityKind::memcpy);
  add(timeline, {at + 10 * us, at + 20 * us}, "Memset (Device)", 7, ActivityKind::memset);
  const auto total = break_down(timeline).total;
  EXPECT_EQ(total.communication, 40 * us);
  EXPECT_EQ(total.copy, 20 * us);
  EXPECT_EQ(total.compute, 0);
  EXPECT_DOUBLE_EQ(total.stall_ratio(), 1.0);
  EXPECT_EQ(total.overlap_ratio(), 0.0);
}

TEST(Breakdown, LengthsAreCutAtTheStepAndRecordsBelongToTheStepTheyStartIn) {
  RankTimeline timeline;
  add_step(timeline, {10 * us, 20 * us});
  add_step(timeline, {20 * us, 30 * us});
  add(timeline, {5 * us, 12 * us}, "before");
  add(timeline, {18 * us, 23 * us}, "across");
  add(timeline, {25 * us, 26 * us}, "inside");
  add(timeline, {30 * us, 31 * us}, "after");
  const auto breakdown = break_down(timeline);
  ASSERT_EQ(breakdown.steps.size(), 2u);
  EXPECT_EQ(breakdown.steps[0].compute, 4 * us);
  EXPECT_EQ(breakdown.steps[1].compute, 4 * us);
  EXPECT_EQ(breakdown.steps[0].kernels, 1);
  EXPECT_EQ(breakdown.steps[1].kernels, 1);
  EXPECT_EQ(breakdown.steps[0].duration_sum, 5 * us);
  EXPECT_EQ(breakdown.steps[1].duration_sum, 1 * us);
  EXPECT_EQ(breakdown.total.window, 20 * us);
  EXPECT_EQ(breakdown.total.compute, 8 * us);
  EXPECT_EQ(breakdown.total.idle, 12 * us);
  EXPECT_EQ(breakdown.total.kernels, 2);
}

TEST(Breakdown, WhereStepsOverlapARecordBelongsToOneOfThem) {
  RankTimeline timeline;
  add_step(timeline, {0, 20 * us});
  add_step(timeline, {10 * us, 30 * us});
  add(timeline, {5 * us, 6 * us}, "k");
  add(timeline, {15 * us, 16 * us}, "k");
  const auto breakdown = break_down(timeline);
  EXPECT_EQ(breakdown.steps[0].kernels, 1);
  EXPECT_EQ(breakdown.steps[1].kernels, 1);
}

TEST(Breakdown, AnEmptyWindowHasNoRatio) {
  EXPECT_TRUE(std::isnan(Breakdown{}.stall_ratio()));
  EXPECT_TRUE(std::isnan(Breakdown{}.stall_article()));
  EXPECT_EQ(Breakdown{}.overlap_ratio(), std::nullopt);
}

constexpr std::size_t size = 512;
using Bitmap = std::bitset<size>;

void set(Bitmap& bits, Interval time) {
  for (auto at = time.begin; at < time.end; ++at) bits.set(static_cast<std::size_t>(at));
}

std::array<Bitmap, 3> fill_at_random(RankTimeline& timeline, std::mt19937_64& random) {
  std::array<Bitmap, 3> out;
  std::uniform_int_distribution<std::int64_t> begin(0, size - 40), length(0, 40);
  std::uniform_int_distribution<int> type(0, 2), count(0, 60);
  for (int n = count(random); n > 0; --n) {
    const auto from = begin(random);
    auto& activity = add(timeline, {from, from + length(random)}, "x");
    activity.type = static_cast<ActivityClass>(type(random));
    set(out[static_cast<std::size_t>(activity.type)], activity.time);
  }
  test::sort_activities(timeline);
  return out;
}

void expect_bitmaps(const Breakdown& step, Interval window, const std::array<Bitmap, 3>& bits) {
  Bitmap inside;
  set(inside, window);
  const auto [k, c, m] = bits;
  const auto count = [&](const Bitmap& b) { return static_cast<std::int64_t>((b & inside).count()); };
  ASSERT_EQ(step.window, static_cast<std::int64_t>(inside.count()));
  ASSERT_EQ(step.compute, count(k));
  ASSERT_EQ(step.communication, count(c));
  ASSERT_EQ(step.copy, count(m));
  ASSERT_EQ(step.exposed_comm, count(c & ~k));
  ASSERT_EQ(step.exposed_copy, count(m & ~(k | c)));
  ASSERT_EQ(step.idle, count(~(k | c | m)));
  ASSERT_EQ(step.overlap, count(c & k));
  ASSERT_EQ(step.compute + step.exposed_comm + step.exposed_copy + step.idle, step.window);
  for (const double ratio :
       {step.stall_ratio(), step.idle_ratio(), step.exposed_comm_ratio(), step.exposed_copy_ratio()}) {
    ASSERT_GE(ratio, 0.0);
    ASSERT_LE(ratio, 1.0);
  }
}

TEST(Breakdown, RandomTimelinesAreWhatABitmapSays) {
  constexpr std::uint64_t seed = 7;
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::int64_t> step_length(1, 120);
  for (int round = 0; round < 5'000; ++round) {
    RankTimeline timeline;
    const auto bits = fill_at_random(timeline, random);
    for (std::int64_t from = step_length(random); from < 400;) {
      const auto to = from + step_length(random);
      if (to > static_cast<std::int64_t>(size)) break;
      add_step(timeline, {from, to});
      from = to + round % 3;  // touching steps and steps apart
    }
    const auto breakdown = break_down(timeline);
    std::int64_t idle = 0, kernels = 0;
    for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(expect_bitmaps(breakdown.steps[i], timeline.steps[i].time, bits)) << "round " << round;
      idle += breakdown.steps[i].idle;
      for (const auto& activity : timeline.activities)
        kernels +=
            timeline.steps[i].time.begin <= activity.time.begin && activity.time.begin < timeline.steps[i].time.end;
    }
    ASSERT_EQ(breakdown.total.idle, idle);
    ASSERT_EQ(breakdown.total.kernels, kernels);
  }
}

TEST(Breakdown, ABrokenIdentityIsAnError) {
  const auto good = break_down(two_streams()).total;
  EXPECT_NO_THROW(check_identities(good, "step"));
  for (const auto member :
       {&Breakdown::window, &Breakdown::compute, &Breakdown::communication, &Breakdown::exposed_comm,
        &Breakdown::exposed_copy, &Breakdown::idle, &Breakdown::overlap}) {
    auto bad = good;
    ++(bad.*member);
    EXPECT_THROW(check_identities(bad, "step"), std::logic_error);
  }
  auto bad = good;
  bad.idle = -1;  // sums still hold
  bad.compute += 10 * ms + 1;
  EXPECT_THROW(check_identities(bad, "step"), std::logic_error);
  bad = good;
  bad.exposed_copy = bad.idle;
  bad.idle = 0;
  EXPECT_THROW(check_identities(bad, "step"), std::logic_error);
}

}  // namespace
}  // namespace stepgauge::trace
