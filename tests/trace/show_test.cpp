// What is shown of a launch: the numbers of a trace whose every microsecond is known.
#include "trace/show.hpp"

#include <gmock/gmock.h>

#include "trace/detail/cover.hpp"
#include "trace/detail/idle_gaps.hpp"
#include "training.hpp"

namespace stepgauge::trace {
namespace {

using test::ms;
using test::Training;
using test::us;
using testing::ElementsAre;
using testing::HasSubstr;

LaunchTraces two_ranks() {
  return analyse("launch", {test::train({.rank = 0, .world_size = 2}),
                            test::train({.rank = 1, .world_size = 2, .sleep_before_optimizer = 20 * us})});
}

TEST(Cover, IsTheDeepestHoweverManyLieBetween) {
  std::vector<Span> spans{{{0, 1'000'000}, "outer"}, {{5, 900'000}, "inner"}};
  for (int i = 0; i < 1000; ++i) spans.push_back({{10 + i * 10, 15 + i * 10}, "short"});
  const detail::Cover<Span> cover(spans);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(cover.deepest(10 + i * 10)->name, "short");
    EXPECT_EQ(cover.deepest(15 + i * 10)->name, "inner") << "ends are not inside";
  }
  EXPECT_EQ(cover.deepest(950'000)->name, "outer");
  EXPECT_EQ(cover.deepest(1'000'000), nullptr);
  EXPECT_EQ(cover.deepest(-1), nullptr);
}

TEST(IdleGaps, AreTheIdleTimeOfTheBreakdown) {
  for (const auto& timeline : two_ranks().ranks) {
    std::int64_t sum = 0;
    for (const auto& gap : detail::idle_gaps(timeline)) sum += gap.time.end - gap.time.begin;
    EXPECT_EQ(sum, break_down(timeline).total.idle);
  }
}

TEST(IdleGaps, OfOverlappingNestedAndMissingWork) {
  RankTimeline timeline;
  for (const Interval step : {Interval{0, 100}, Interval{100, 200}, Interval{300, 400}}) test::add_step(timeline, step);
  const auto add = [&](std::int64_t begin, std::int64_t end, std::int32_t stream) {
    test::add(timeline, {begin, end}, "k" + std::to_string(begin), stream);
  };
  add(-10, 20, 1);
  add(30, 80, 1);
  add(40, 50, 2);
  add(120, 150, 1);
  add(250, 310, 1);
  std::vector<Interval> gaps;
  for (const auto& gap : detail::idle_gaps(timeline)) gaps.push_back(gap.time);
  EXPECT_THAT(gaps, ElementsAre(Interval{20, 30}, Interval{80, 120}, Interval{150, 200}, Interval{310, 400}));
  EXPECT_EQ(detail::idle_gaps(timeline)[1].next->time.begin, 120);
  EXPECT_EQ(detail::idle_gaps(timeline)[2].next, nullptr) << "what follows runs outside of the steps";
}

TEST(Show, WorkByClassAndPhase) {
  const auto shown = view(analyse("launch", {test::train()}));
  const auto& rank = shown.ranks.at(0);
  ASSERT_GE(rank.work.size(), 4u);
  EXPECT_EQ(rank.work[0].name, "sm90_gemm");
  EXPECT_EQ(rank.work[0].phase, "backward");
  EXPECT_EQ(rank.work[0].per_step, 6);
  EXPECT_NEAR(rank.work[0].ms_per_step, 0.300, 1e-9);
  EXPECT_NEAR(rank.work[0].share, 0.300 / (static_cast<double>(rank.total.window) / 10 / 1e6), 1e-9);
  EXPECT_EQ(rank.work[1].phase, "forward");
  EXPECT_EQ(rank.work[1].per_step, 3);
  EXPECT_EQ(rank.work[2].phase, "optimizer");
  EXPECT_EQ(rank.work[3].type, ActivityClass::copy);
  double shares = static_cast<double>(rank.total.idle) / static_cast<double>(rank.total.window);
  for (const auto& row : rank.work) shares += row.share;
  EXPECT_NEAR(shares, 1, 1e-9) << "on one stream everything is there once";
}

TEST(Show, IdleTimeAndWhatTheHostDid) {
  const auto shown = view(two_ranks(), {.rank = 1});
  ASSERT_EQ(shown.ranks.size(), 1u);
  const auto& idle = shown.ranks[0].idle;
  EXPECT_NEAR(idle.at(0).ms_per_step, 0.036, 1e-9) << "6 us before each gemm of backward";
  EXPECT_EQ(idle[0].per_step, 6);
  EXPECT_EQ(idle[1].host, "no call in optimizer");
  EXPECT_EQ(idle[1].next, "void multi_tensor_apply_kernel<Adam>(int)");
  EXPECT_NEAR(idle[1].ms_per_step, 0.026, 1e-9);
  EXPECT_NEAR(idle[1].longest_ms, 0.026, 1e-9);
  EXPECT_EQ(idle[1].longest_step, "ProfilerStep#0");
  double sum = 0;
  for (const auto& row : idle) sum += row.ms_per_step;
  EXPECT_NEAR(sum, static_cast<double>(shown.ranks[0].total.idle) / 1e7, 1e-9);
  EXPECT_EQ(view(two_ranks(), {.rank = 1, .top = 2}).ranks[0].idle.size(), 2u);
}

TEST(Show, GraphKernelsHaveTheDevicesPhases) {
  RankTimeline timeline;
  test::add_step(timeline, {0, 100 * us});
  timeline.phases.push_back({{0, 100 * us}, "replay"});
  timeline.device_phases.push_back({{0, 50 * us}, "forward"});
  test::add_call(timeline, {0, us}, "cudaGraphLaunch", 1);
  for (const std::uint64_t node : {0, 7}) {
    auto& kernel = test::add(timeline, {(10 + 20 * static_cast<std::int64_t>(node > 0)) * us, 45 * us},
                             "k" + std::to_string(node), node > 0 ? 8 : 7);
    kernel.correlation = 1;
    kernel.graph_node = node;
  }
  const auto shown = view(analyse("graph", {timeline}));
  ASSERT_EQ(shown.ranks[0].work.size(), 2u);
  EXPECT_EQ(shown.ranks[0].work[0].phase, "replay");
  EXPECT_EQ(shown.ranks[0].work[1].phase, "forward");
}

TEST(Show, TheSlowestCollective) {
  auto traces = two_ranks();
  const auto shown = view(traces);
  ASSERT_TRUE(shown.slowest);
  EXPECT_TRUE(shown.slowest->compared);
  EXPECT_EQ(shown.slowest->collective.kind, "all_reduce");
  EXPECT_EQ(shown.slowest->collective.longest, 30 * us);
  const auto one = view(traces, {.rank = 1});
  EXPECT_FALSE(one.slowest->compared);
  EXPECT_EQ(one.slowest->rank, 1);
}

TEST(Show, NoCommunicationInAWorldOfTwoIsSuspicious) {
  const auto shown = view(analyse("launch", {[] {
                                    auto out = test::train();
                                    out.world_size = 2;
                                    return out;
                                  }()}));
  EXPECT_TRUE(shown.reliable());
  ASSERT_EQ(shown.notes.size(), 2u);
  EXPECT_THAT(shown.notes[0], HasSubstr("1 of 2 ranks"));
  EXPECT_THAT(shown.notes[1], HasSubstr("no communication in a world of 2"));
  EXPECT_TRUE(view(analyse("launch", {test::train()})).notes.empty()) << "in a world of one that is how it is";
}

TEST(Show, WithholdsTheNumbersOfADoubtfulRank) {
  auto traces = two_ranks();
  traces.ranks[1].dropped = 7;
  const auto shown = view(analyse("launch", std::move(traces.ranks)));
  EXPECT_FALSE(shown.reliable());
  EXPECT_TRUE(shown.ranks[0].doubtful.empty());
  EXPECT_THAT(shown.ranks[1].doubtful.at(0), HasSubstr("lost 7 records"));
  EXPECT_TRUE(shown.ranks[1].work.empty());
  EXPECT_EQ(shown.ranks[1].total.window, 0);
  EXPECT_TRUE(to_json(shown).at("ranks").at(1).at("breakdown").is_null());
}

TEST(Show, ImpossibleRecordsAreCountedAndNeverRankFirst) {
  auto timeline = test::train({.steps = 200});
  auto& stretched = timeline.activities[50];
  const auto name = timeline.names[stretched.name];
  stretched.time.end += 1000 * ms;
  test::sort_activities(timeline);
  const auto shown = view(analyse("launch", {timeline}));
  EXPECT_EQ(shown.ranks[0].excluded, 1);
  EXPECT_LT(shown.ranks[0].work[0].ms_per_step, 1) << name;
  EXPECT_THAT(shown.notes.at(0), HasSubstr("1 impossible records"));
}

TEST(Show, UnknownRanksAreNamed) {
  try {
    view(two_ranks(), {.rank = 2});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("0, 1"));
  }
}

TEST(Show, Json) {
  const auto json = to_json(view(two_ranks()));
  EXPECT_NO_THROW(dump_line(json));
  const auto& rank = json.at("ranks").at(0);
  const auto& parts = rank.at("breakdown");
  EXPECT_NEAR(parts.at("compute_ms").get<double>() + parts.at("exposed_communication_ms").get<double>() +
                  parts.at("exposed_copy_ms").get<double>() + parts.at("idle_ms").get<double>(),
              parts.at("step_ms").get<double>(), 1e-9);
  EXPECT_TRUE(
      to_json(view(analyse("x", {test::train()}))).at("ranks")[0].at("breakdown").at("overlap_ratio").is_null());
  EXPECT_EQ(rank.at("work").at(0).at("class"), "compute");
}

}  // namespace
}  // namespace stepgauge::trace
