// What started in a step: launches, collectives, operators. Wrong counts hide a graph that was not captured.
#include "trace/breakdown.hpp"

#include <gtest/gtest.h>

#include "timelines.hpp"

namespace stepgauge::trace {
namespace {

using test::add;
using test::add_call;
using test::add_step;
using test::us;

TEST(Launches, BelongToTheStepOfWhatTheyLaunched) {
  RankTimeline timeline;
  add_step(timeline, {100 * us, 200 * us});
  add_step(timeline, {200 * us, 300 * us});
  for (std::uint32_t i = 1; i <= 4; ++i)
    add(timeline, {90 * us + us * 40 * i, 100 * us + us * 40 * i}, "k").correlation = i;
  // All of the calls were made before the first step began on the device.
  add_call(timeline, {1 * us, 5 * us}, "cudaLaunchKernel", 1);
  add_call(timeline, {6 * us, 8 * us}, "cudaLaunchKernelExC_v11060", 2);
  add_call(timeline, {10 * us, 12 * us}, "cudaMemcpyAsync", 3);
  add_call(timeline, {13 * us, 14 * us}, "cudaMemsetAsync", 4);
  add_call(timeline, {15 * us, 16 * us}, "cudaLaunchKernel", 99);  // its record is lost: of no step
  add_call(timeline, {15 * us, 16 * us}, "cudaLaunchKernel", 0);   // nothing to be joined by
  add_call(timeline, {17 * us, 18 * us}, "cudaStreamSynchronize", 4);
  add_call(timeline, {17 * us, 18 * us}, "cudaLaunchKernel", 4, CallKind::op);
  const auto breakdown = break_down(timeline);
  EXPECT_EQ(breakdown.steps[0].launches, 2);
  EXPECT_EQ(breakdown.steps[1].launches, 2);
  EXPECT_EQ(breakdown.total.launches, 4);
  EXPECT_EQ(breakdown.total.graph_launches, 0);
}

TEST(Launches, ADriverCallInsideARuntimeCallIsTheSameLaunch) {
  RankTimeline timeline;
  add_step(timeline, {0, 1000 * us});
  for (std::uint32_t i = 1; i <= 5; ++i) add(timeline, {us * 100 * i, us * 100 * i + us}, "k").correlation = i;
  add_call(timeline, {10 * us, 20 * us}, "cudaLaunchKernel", 1);
  add_call(timeline, {12 * us, 18 * us}, "cuLaunchKernel", 1, CallKind::driver);
  add_call(timeline, {30 * us, 40 * us}, "cudaLaunchKernel", 77);  // the inner one has the correlation
  add_call(timeline, {32 * us, 38 * us}, "cuLaunchKernelEx", 2, CallKind::driver);
  add_call(timeline, {50 * us, 60 * us}, "cudaLaunchKernel", 3);
  add_call(timeline, {52 * us, 58 * us}, "cuLaunchKernel", 4, CallKind::driver, 2);  // another thread's
  add_call(timeline, {60 * us, 62 * us}, "cuLaunchKernel", 5, CallKind::driver);     // after it
  EXPECT_EQ(break_down(timeline).total.launches, 5);
}

TEST(Launches, CallsOfAFileInWholeMicrosecondsStayApart) {
  RankTimeline timeline;
  add_step(timeline, {0, 1000 * us});
  for (std::uint32_t i = 1; i <= 3; ++i) add(timeline, {us * 100 * i, us * 100 * i + us}, "k").correlation = i;
  add_call(timeline, {10 * us, 10 * us}, "cudaLaunchKernel", 1);
  add_call(timeline, {10 * us, 10 * us}, "cudaLaunchKernel", 2);
  add_call(timeline, {20 * us, 21 * us}, "cuLaunchKernel", 3, CallKind::driver);  // the inner one comes first
  add_call(timeline, {20 * us, 22 * us}, "cudaLaunchKernel", 3);
  EXPECT_EQ(break_down(timeline).total.launches, 3);
}

TEST(Launches, AGraphIsOneLaunchHoweverManyNodesItHas) {
  RankTimeline timeline;
  add_step(timeline, {0, 1000 * us});
  for (std::int64_t i = 0; i < 8; ++i) {
    auto& node = add(timeline, {100 * us + i * us, 101 * us + i * us}, "k");
    node.correlation = 5;
    node.graph_node = static_cast<std::uint64_t>(i + 1);
  }
  add_call(timeline, {10 * us, 20 * us}, "cudaGraphLaunch", 5);
  add_call(timeline, {11 * us, 19 * us}, "cuGraphLaunch", 5, CallKind::driver);
  const auto total = break_down(timeline).total;
  EXPECT_EQ(total.kernels, 8);
  EXPECT_EQ(total.launches, 1);
  EXPECT_EQ(total.graph_launches, 1);
}

TEST(Collectives, BelongToTheStepTheyBeginInOnTheDeviceOrElseOnTheHost) {
  RankTimeline timeline;
  add_step(timeline, {100, 200});
  add_step(timeline, {200, 300});
  timeline.collectives.push_back({1, "all_reduce", 1000, 0, {90, 95}, {210, 220}});
  timeline.collectives.push_back({2, "all_reduce", 500, 1, {150, 155}, {}});
  timeline.collectives.push_back({3, "broadcast", 7, -1, {10, 20}, {}});
  const auto breakdown = break_down(timeline);
  EXPECT_EQ(breakdown.steps[0].collectives, 1);
  EXPECT_EQ(breakdown.steps[0].collective_bytes, 500);
  EXPECT_EQ(breakdown.steps[1].collectives, 1);
  EXPECT_EQ(breakdown.steps[1].collective_bytes, 1000);
  EXPECT_EQ(breakdown.total.collectives, 2);
  EXPECT_EQ(breakdown.total.collective_bytes, 1500);
}

/// Operators that nest, times in us.
RankTimeline operators() {
  RankTimeline timeline;
  timeline.host_time = true;
  add_step(timeline, {0, 1000 * us});
  const auto op = [&](std::int64_t begin, std::int64_t end, const char* name, std::int32_t thread = 1) {
    add(timeline, {begin * us, end * us}, name, thread, ActivityKind::host_op);
  };
  op(0, 50, "aten::addmm");  // begins with the one around it and comes first, being shorter
  op(0, 100, "aten::linear");
  op(60, 80, "aten::copy_");
  op(100, 200, "aten::to");
  op(110, 190, "aten::_to_copy");
  op(120, 180, "aten::copy_");
  op(150, 170, "aten::relu", 2);
  add(timeline, {150 * us, 400 * us}, "all_reduce", 1, ActivityKind::collective);
  op(300, 310, "aten::add");
  op(300, 310, "aten::add_");
  op(2000, 2010, "aten::after");
  return timeline;
}

TEST(HostTimeline, OnlyOutermostOperatorsAreCounted) {
  const auto total = break_down(operators()).total;
  EXPECT_EQ(total.kernels, 4);  // linear, to, relu of the other thread, add
  EXPECT_EQ(total.copies, 2);
  EXPECT_EQ(total.compute, 130 * us);
  EXPECT_EQ(total.copy, 120 * us);
  EXPECT_EQ(total.communication, 250 * us);
  EXPECT_EQ(total.launches, 0);
}

TEST(HostTimeline, OperatorsMayNestAndCollectivesOverlap) {
  auto timeline = operators();
  add(timeline, {2100 * us, 2300 * us}, "all_reduce", 1, ActivityKind::collective);
  add(timeline, {2200 * us, 2400 * us}, "all_reduce", 1, ActivityKind::collective);
  EXPECT_EQ(sanitize(timeline), 0);
  timeline.activities[2].time.end = timeline.activities[2].time.begin;
  EXPECT_EQ(sanitize(timeline), 1);
}

}  // namespace
}  // namespace stepgauge::trace
