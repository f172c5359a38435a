// A trace with lost or impossible records must not become a number (case C24).
#include "trace/breakdown.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "timelines.hpp"

namespace stepgauge::trace {
namespace {

using test::add;
using test::add_step;
using test::ms;
using test::us;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Case C24: 50 steps of 1 ms, one kernel of half of it in each.
RankTimeline fifty_steps() {
  RankTimeline timeline;
  for (std::int64_t i = 0; i < 50; ++i) {
    add_step(timeline, {i * ms, (i + 1) * ms});
    add(timeline, {i * ms + 100 * us, i * ms + 600 * us}, "gemm");
    timeline.event_step_ms.push_back(1.0);
  }
  return timeline;
}

std::vector<std::string> reasons_of(RankTimeline timeline) {
  const auto excluded = sanitize(timeline);
  return unreliable_because(timeline, break_down(timeline), excluded);
}

TEST(Reliability, AGoodTraceIsTrusted) {
  EXPECT_THAT(reasons_of(fifty_steps()), IsEmpty());
}

TEST(Reliability, StepsWhoseRecordsAreMissingAreCounted) {
  auto timeline = fifty_steps();
  timeline.activities.erase(timeline.activities.begin(), timeline.activities.begin() + 5);
  EXPECT_THAT(reasons_of(timeline), ElementsAre("45 of 50 steps have GPU records"));
  // A record of the step before that runs on into a step is not that step's.
  timeline.activities.front().time.end += ms;
  timeline.activities.erase(timeline.activities.begin() + 1);
  EXPECT_THAT(reasons_of(timeline), ElementsAre("44 of 50 steps have GPU records"));
}

TEST(Reliability, RecordsAtZeroOfNoLengthAreTakenOutAndCounted) {
  auto timeline = fifty_steps();
  for (const std::size_t i : {10u, 20u, 30u}) timeline.activities[i].time = {0, 0};
  test::sort_activities(timeline);
  const auto reasons = reasons_of(timeline);
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_EQ(reasons[0], "47 of 50 steps have GPU records");
  EXPECT_THAT(reasons[1], HasSubstr("3 of 50 records are impossible"));
  EXPECT_EQ(sanitize(timeline), 3);
  EXPECT_EQ(timeline.activities.size(), 47u);
  EXPECT_EQ(sanitize(timeline), 0);
}

TEST(Reliability, ARecordThatRunsOnForASecondIsTakenOutAndItsNeighboursStay) {
  auto timeline = fifty_steps();
  timeline.activities[20].time.end = timeline.activities[21].time.begin + 1000 * ms;
  auto cleaned = timeline;
  EXPECT_EQ(sanitize(cleaned), 1);
  EXPECT_EQ(cleaned.activities.size(), 49u);
  EXPECT_EQ(break_down(cleaned).total.compute, us * 49 * 500);
  EXPECT_EQ(break_down(cleaned).steps[20].compute, 0);
  const auto reasons = reasons_of(timeline);
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_EQ(reasons[0], "49 of 50 steps have GPU records");
  EXPECT_THAT(reasons[1], HasSubstr("1 of 50 records are impossible"));
}

TEST(Reliability, OneImpossibleRecordInAThousandIsPutUpWith) {
  RankTimeline timeline;
  add_step(timeline, {0, 1000 * us});
  for (std::int64_t i = 0; i < 1000; ++i) add(timeline, {i * us, i * us + 900}, "k");
  timeline.activities[500].time.end = timeline.activities[500].time.begin;
  EXPECT_THAT(reasons_of(timeline), IsEmpty());
  timeline.activities[600].time.end = timeline.activities[600].time.begin - 5;
  EXPECT_THAT(reasons_of(timeline), ElementsAre(HasSubstr("2 of 1000 records are impossible")));
}

// Programmatic dependent launch: cuDNN's kernels on a H200 begin up to 25 us before the one before them ends.
TEST(Reliability, AKernelMayBeginBeforeTheOneBeforeItEndsButNotEndBeforeIt) {
  RankTimeline timeline;
  add(timeline, {0, 19 * us}, "k");
  add(timeline, {10 * us, 20 * us}, "k");
  EXPECT_EQ(sanitize(timeline), 0);
  timeline.activities[0].time.end = 21 * us;  // the clock's noise
  EXPECT_EQ(sanitize(timeline), 0);
  timeline.activities[0].time.end += 1;
  auto other_stream = timeline;
  other_stream.activities[1].stream = 8;
  EXPECT_EQ(sanitize(other_stream), 0);
  EXPECT_EQ(sanitize(timeline), 1);
  EXPECT_EQ(timeline.activities.front().time.begin, 10 * us);
}

TEST(Reliability, AnImpossibleRecordDoesNotCondemnTheOneBeforeIt) {
  RankTimeline timeline;
  add(timeline, {0, 20 * us}, "good");
  add(timeline, {10 * us, 500 * us}, "bad");
  add(timeline, {15 * us, 15 * us}, "nothing");
  add(timeline, {30 * us, 40 * us}, "good");
  EXPECT_EQ(sanitize(timeline), 2);
  EXPECT_EQ(timeline.activities[0].time, (Interval{0, 20 * us}));
  EXPECT_EQ(timeline.activities[1].time, (Interval{30 * us, 40 * us}));
}

TEST(Reliability, NodesOfOneGraphLaunchMayRunSideBySide) {
  RankTimeline timeline;
  const auto node = [&](std::int64_t begin, std::int64_t end, std::uint32_t launch) {
    auto& activity = add(timeline, {begin * us, end * us}, "k");
    activity.correlation = launch;
    activity.graph_node = timeline.activities.size();
  };
  node(0, 90, 1);
  node(10, 20, 1);
  node(30, 40, 1);
  node(100, 190, 2);
  node(110, 120, 2);
  auto good = timeline;
  EXPECT_EQ(sanitize(good), 0);
  timeline.activities[0].time.end = 192 * us;  // what follows the launch has ended
  EXPECT_EQ(sanitize(timeline), 1);
  EXPECT_EQ(timeline.activities.front().time.begin, 10 * us);
}

TEST(Reliability, LostRecordsAndMissingMarksAreSaid) {
  auto timeline = fifty_steps();
  timeline.dropped = 12;
  EXPECT_THAT(reasons_of(timeline), ElementsAre("the tracer lost 12 records"));
  timeline.dropped = 0;
  timeline.steps.clear();
  EXPECT_THAT(reasons_of(timeline), ElementsAre("no step is marked"));
}

TEST(Reliability, MarksMustAgreeWithDeviceEvents) {
  auto timeline = fifty_steps();
  timeline.event_step_ms[7] = 0.951;  // 49 us: more than 2 %, not more than 50 us
  EXPECT_THAT(reasons_of(timeline), IsEmpty());
  timeline.event_step_ms[7] = 0.9;
  EXPECT_THAT(reasons_of(timeline), ElementsAre(HasSubstr("1 of 50 steps")));
  EXPECT_THAT(reasons_of(timeline), ElementsAre(HasSubstr("ProfilerStep#7: 1.000 ms by its marks")));
  timeline.event_step_ms[7] = 1.1;
  EXPECT_THAT(reasons_of(timeline), ElementsAre(HasSubstr("1 of 50 steps")));
  timeline.event_step_ms.pop_back();
  EXPECT_THAT(reasons_of(timeline), ElementsAre("50 steps are marked, 49 were timed by device events"));
  timeline.event_step_ms.clear();
  EXPECT_THAT(reasons_of(timeline), IsEmpty());
}

TEST(Reliability, MarksMayBeOffByTwoPercent) {
  RankTimeline timeline;
  add_step(timeline, {0, 100 * ms});
  add(timeline, {0, 50 * ms}, "k");
  timeline.event_step_ms = {98.1};
  EXPECT_THAT(reasons_of(timeline), IsEmpty());
  timeline.event_step_ms = {97.9};
  EXPECT_THAT(reasons_of(timeline), ElementsAre(HasSubstr("1 of 1 steps")));
}

TEST(Reliability, BusyTimeBeyondTheStepByDeviceEventsIsImpossible) {
  RankTimeline timeline;
  add_step(timeline, {0, 100 * ms});
  add(timeline, {0, 100 * ms}, "k");
  timeline.event_step_ms = {99.0};  // within 2 % of the marks
  EXPECT_THAT(reasons_of(timeline), ElementsAre(HasSubstr("busy 100.000 ms, 99.000 ms by device events")));
  timeline.activities[0].time.end = 99 * ms;
  EXPECT_THAT(reasons_of(timeline), IsEmpty());
}

TEST(Reliability, NoCommunicationTimeAmongSeveralRanksIsSuspicious) {
  auto timeline = fifty_steps();
  timeline.world_size = 2;
  EXPECT_THAT(reasons_of(timeline), IsEmpty());  // steps that only accumulate gradients
  timeline.foreign = true;
  EXPECT_THAT(reasons_of(timeline), ElementsAre(HasSubstr("no communication was seen in a world of 2")));
  timeline.foreign = false;
  timeline.collectives.push_back({1, "all_reduce", 8, -1, {0, us}, {}});
  EXPECT_THAT(reasons_of(timeline), ElementsAre(HasSubstr("1 collectives were recorded")));
  timeline.world_size = 1;
  EXPECT_THAT(reasons_of(timeline), IsEmpty());
}

}  // namespace
}  // namespace stepgauge::trace
