// A change that was planted is the first thing that a person reads.
#include "trace/diff.hpp"

#include <gmock/gmock.h>

#include "training.hpp"

namespace stepgauge::trace {
namespace {

using test::Training;
using test::us;
using testing::HasSubstr;

LaunchTraces launch(const Training& training) {
  std::vector<RankTimeline> ranks;
  for (int rank = 0; rank < training.world_size; ++rank) {
    auto one = training;
    one.rank = rank;
    ranks.push_back(test::train(one));
  }
  return analyse("launch", std::move(ranks));
}

TraceDiff diff_of(const Training& a, const Training& b) {
  auto out = diff(launch(a), launch(b));
  EXPECT_TRUE(out.reliable()) << (out.b.doubtful.empty() ? "" : out.b.doubtful.front());
  return out;
}

double change_of(const TraceDiff& diff, const std::string& name) {
  for (const auto& row : diff.breakdown) {
    if (row.name == name) return row.b - row.a;
  }
  ADD_FAILURE() << name;
  return 0;
}

TEST(Diff, NothingChanged) {
  const auto same = diff_of({}, {});
  EXPECT_TRUE(same.rows.empty());
  for (const auto& row : same.breakdown) EXPECT_EQ(row.a, row.b) << row.name;
  EXPECT_TRUE(diff_of({.steps = 10}, {.steps = 20}).rows.empty()) << "numbers are those of one step";
}

TEST(Diff, AWaitOfTheHostIsALargerIdle) {
  const auto found = diff_of({}, {.sleep_before_optimizer = 20 * us});
  ASSERT_EQ(found.rows.size(), 1u);
  const auto& first = found.rows.front();
  EXPECT_EQ(first.change, Change::idle);
  EXPECT_NEAR(first.cost_ms(), 0.020, 1e-9);
  EXPECT_EQ(first.before, "void multi_tensor_apply_kernel<Adam>(int)");
  EXPECT_EQ(first.host, "no call in optimizer");
  EXPECT_NEAR(change_of(found, "idle"), 0.020, 1e-9);
  EXPECT_NEAR(change_of(found, "step"), 0.020, 1e-9);
  EXPECT_EQ(change_of(found, "compute"), 0);
}

TEST(Diff, AnExtraCopy) {
  const auto found = diff_of({}, {.extra_copy = true});
  const auto& first = found.rows.at(0);
  EXPECT_EQ(first.change, Change::appeared);
  EXPECT_EQ(first.name, "Memcpy DtoD (Device -> Device)");
  EXPECT_EQ(first.kind, ActivityKind::memcpy);
  EXPECT_EQ(first.count_b, 1);
  EXPECT_NEAR(first.cost_ms(), 0.012, 1e-9) << "6 us and the 6 us that it waits for its launch";
  EXPECT_EQ(found.rows.size(), 1u);
}

TEST(Diff, AnExtraKernel) {
  const auto found = diff_of({}, {.extra_kernel = true});
  EXPECT_EQ(found.rows.at(0).change, Change::appeared);
  EXPECT_EQ(found.rows[0].name, "void at::native::extra_kernel<float>(float*)");
  EXPECT_EQ(change_of(found, "kernels"), 1);
  const auto back = diff_of({.extra_kernel = true}, {});
  EXPECT_EQ(back.rows.at(0).change, Change::gone);
  EXPECT_NEAR(back.rows[0].cost_ms(), -found.rows[0].cost_ms(), 1e-12);
}

TEST(Diff, TheDearerChangeComesFirst) {
  const auto found =
      diff_of({}, {.sleep_before_optimizer = 20 * us, .extra_copy = true, .extra_kernel = true, .gemm = 60 * us});
  std::vector<Change> changes;
  for (const auto& row : found.rows) changes.push_back(row.change);
  EXPECT_EQ(changes, (std::vector{Change::time, Change::idle, Change::appeared, Change::appeared}));
  EXPECT_NEAR(found.rows[0].cost_ms(), 9 * 0.010, 1e-9);
  double sum = 0;
  for (const auto& row : found.rows) sum += row.cost_ms();
  EXPECT_NEAR(sum, change_of(found, "step"), 1e-9) << "on one stream the rows explain the whole step";
}

TEST(Diff, RanksAreAveraged) {
  const auto found = diff_of({.world_size = 2}, {.world_size = 2, .sleep_before_optimizer = 20 * us});
  EXPECT_NEAR(found.rows.at(0).cost_ms(), 0.020, 1e-9);
  const auto other = diff_of({.world_size = 1}, {.world_size = 2});
  ASSERT_FALSE(other.notes.empty());
  EXPECT_THAT(other.notes[0], HasSubstr("1 of 1 ranks"));
  EXPECT_EQ(other.rows.at(0).name, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
}

TEST(Diff, WithholdsWhatCannotBeTrusted) {
  auto broken = test::train();
  broken.dropped = 5;
  const auto found = diff(launch({}), analyse("broken", {broken}));
  EXPECT_FALSE(found.reliable());
  EXPECT_TRUE(found.rows.empty());
  EXPECT_THAT(found.b.doubtful.at(0), HasSubstr("rank 0: the tracer lost 5 records"));
  EXPECT_TRUE(to_json(found).at("rows").is_null());
}

TEST(Diff, OperatorsAreNotKernels) {
  RankTimeline host;
  host.host_time = true;
  test::add_step(host, {0, test::ms});
  test::add(host, {0, us}, "aten::add", 1, ActivityKind::host_op);
  EXPECT_THROW(diff(launch({}), analyse("host", {host})), std::invalid_argument);
}

TEST(Diff, OwnTimeOfOperators) {
  const auto host = [](std::int64_t inner) {
    RankTimeline out;
    out.host_time = true;
    test::add_step(out, {0, test::ms});
    test::add(out, {0, 10 * us}, "aten::copy_", 1, ActivityKind::host_op);
    test::add(out, {0, 100 * us + inner}, "aten::linear", 1, ActivityKind::host_op);
    test::add(out, {50 * us, 60 * us + inner}, "aten::addmm", 1, ActivityKind::host_op);
    return analyse("host", {out});
  };
  const auto found = diff(host(0), host(30 * us));
  ASSERT_FALSE(found.rows.empty());
  EXPECT_EQ(found.rows[0].name, "aten::addmm") << "the operator that calls it took no longer for itself";
  EXPECT_NEAR(found.rows[0].cost_ms(), 0.030, 1e-9);
}

TEST(Diff, Json) {
  const auto json = to_json(diff_of({}, {.sleep_before_optimizer = 20 * us, .extra_copy = true}));
  EXPECT_NO_THROW(dump_line(json));
  EXPECT_EQ(json.at("rows").at(0).at("change"), "idle");
  EXPECT_EQ(json.at("rows")[0].at("host"), "no call in optimizer");
  EXPECT_EQ(json.at("rows")[1].at("kind"), "memcpy");
  EXPECT_EQ(json.at("breakdown")[0].at("name"), "step");
}

}  // namespace
}  // namespace stepgauge::trace
