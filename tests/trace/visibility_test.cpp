// Which part of a step can be found in a trace, and by which mark.
#include "trace/visibility.hpp"

#include <gtest/gtest.h>

#include "timelines.hpp"

namespace stepgauge::trace {
namespace {

using test::ms;

constexpr int steps = 3;

/// Two kernels a step, the first launched in forward, the second in backward, each by a call of its own.
RankTimeline eager(int world = 1) {
  RankTimeline out;
  out.world_size = world;
  std::uint32_t correlation = 0;
  for (int i = 0; i < steps; ++i) {
    const auto at = i * 100 * ms;
    test::add_step(out, {at, at + 100 * ms});
    for (const auto& [phase, from] : {std::pair{"forward", 0}, std::pair{"backward", 50}}) {
      const auto begin = at + from * ms;
      test::add(out, {begin + 10 * ms, begin + 40 * ms}, "gemm").correlation = ++correlation;
      test::add_call(out, {begin + ms, begin + 2 * ms}, "cudaLaunchKernel", correlation);
      out.phases.push_back({{begin, begin + 5 * ms}, phase});
    }
  }
  return out;
}

void add_device_marks(RankTimeline& timeline) {
  for (int i = 0; i < steps; ++i) {
    const auto at = i * 100 * ms;
    timeline.device_phases.push_back({{at + 5 * ms, at + 50 * ms}, "forward"});
    timeline.device_phases.push_back({{at + 50 * ms, at + 95 * ms}, "backward"});
  }
}

Json by(const Json& visibility, const char* part) {
  return visibility.at(part).value("by", Json::array());
}

TEST(Visibility, AnnotationsOfTheHostLocateWhatTheyLaunched) {
  const auto seen = visibility_json(analyse("", {eager()}));
  EXPECT_EQ(by(seen, "forward"), Json({"user annotation"}));
  EXPECT_EQ(by(seen, "backward"), Json({"user annotation"}));
  EXPECT_EQ(seen.at("optimizer").at("located"), false);
  EXPECT_EQ(seen.at("all_reduce").at("why"), "not applicable: one rank");
}

TEST(Visibility, MarksOfTheDeviceComeFirst) {
  auto timeline = eager();
  add_device_marks(timeline);
  EXPECT_EQ(by(visibility_json(analyse("", {timeline})), "forward"), Json({"device mark", "user annotation"}));
}

TEST(Visibility, InsideAGraphTheHostSaysNothingAndTheMarkIsANode) {
  auto timeline = eager();
  add_device_marks(timeline);
  for (auto& activity : timeline.activities) {
    activity.graph_node = 5;
    activity.correlation = static_cast<std::uint32_t>(1 + activity.time.begin / (100 * ms));  // one launch a step
  }
  const auto seen = visibility_json(analyse("", {timeline}));
  EXPECT_EQ(by(seen, "forward"), Json({"graph mark"}));
  EXPECT_EQ(by(seen, "backward"), Json({"graph mark"}));
}

TEST(Visibility, MarksBetweenGraphsAreTheDevices) {
  auto timeline = eager();
  add_device_marks(timeline);
  for (auto& activity : timeline.activities) activity.graph_node = 5;  // one launch a phase, as they were
  EXPECT_EQ(by(visibility_json(analyse("", {timeline})), "forward"), Json({"device mark"}));
}

TEST(Visibility, AMarkThatIsMissingInOneStepOrOnOneRankDoesNotCount) {
  auto timeline = eager(2);
  timeline.phases.pop_back();
  EXPECT_EQ(visibility_json(analyse("", {timeline})).at("backward").at("located"), false);
  auto other = eager(2);
  other.rank = 1;
  other.phases.clear();
  const auto seen = visibility_json(analyse("", {eager(2), other}));
  EXPECT_EQ(seen.at("forward").at("located"), false);
}

TEST(Visibility, CollectivesByKernelAndRecordBucketsByRecordAlone) {
  auto timeline = eager(2);
  for (int i = 0; i < steps; ++i) {
    const auto at = i * 100 * ms + 60 * ms;
    test::add(timeline, {at, at + 10 * ms}, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 20);
  }
  test::sort_activities(timeline);
  auto seen = visibility_json(analyse("", {timeline}));
  EXPECT_EQ(by(seen, "all_reduce"), Json({"NCCL kernel"}));
  EXPECT_EQ(seen.at("bucket").at("located"), false) << "a kernel alone does not say which bucket it is";
  for (int i = 0; i < steps; ++i) {
    const auto at = i * 100 * ms + 60 * ms;
    timeline.collectives.push_back({i, "all_reduce", 1 << 20, 0, {at, at + ms}, {at, at + 10 * ms}});
  }
  seen = visibility_json(analyse("", {timeline}));
  EXPECT_EQ(by(seen, "all_reduce"), Json({"NCCL kernel", "collective record"}));
  EXPECT_EQ(by(seen, "bucket"), Json({"collective record"}));
}

TEST(Visibility, WithoutATraceThereIsNothingToSay) {
  EXPECT_TRUE(visibility_json(analyse("", {})).is_null());
  EXPECT_TRUE(visibility_json(analyse("", {RankTimeline{}})).is_null());
}

}  // namespace
}  // namespace stepgauge::trace
