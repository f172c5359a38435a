#include "summary/launch_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contract/metrics.hpp"

namespace stepgauge::summary {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

Cell two_rank_cell() {
  Cell cell;
  cell.workload = {"resnet18", "resnet", {}};
  cell.device = "cuda";
  cell.ddp.ranks = 2;
  cell.ddp.backend = "nccl";
  assign_identity(cell);
  return cell;
}

RankRecord rank_record(const Cell& cell, int rank, double step_ms) {
  RankRecord record;
  record.cell_id = cell.id;
  record.cell_hash = cell.hash;
  record.rank = rank;
  record.world_size = 2;
  record.phases_s = {{"spawn", 0.25}, {"runtime", 1.0}, {"build", 0.5}};
  record.step_ms.assign(61, step_ms);
  record.step_ms[0] = 2000;
  record.measured_from = 11;
  record.first_step_s = 2.0;
  record.work_per_step = 32;
  record.flops_per_step = 4e12;
  record.peak_tflops = 1000;
  record.memory_steady = {1000.0, 1100.0, 2000.0};
  record.memory_first_step = {1500.0, 1500.0, 2000.0};
  record.outside_mib = 500;
  return record;
}

LaunchFacts facts_of(const Cell& cell) {
  LaunchFacts facts;
  facts.ranks = {rank_record(cell, 0, 10), rank_record(cell, 1, 20)};
  return facts;
}

double value(const LaunchRecord& record, const char* metric) {
  return record.metrics.at(metric).value.value();
}

TEST(LaunchSummary, SlowestRankDecidesTheStepAndThroughputIsGlobal) {
  const auto cell = two_rank_cell();
  const auto record = summarise(cell, facts_of(cell));
  EXPECT_EQ(record.status, Status::ok) << record.reason;
  EXPECT_DOUBLE_EQ(value(record, "step_time"), 20);
  EXPECT_THAT(value(record, "throughput"), DoubleNear(64 / 0.020, 1e-6));
  EXPECT_EQ(record.metrics.at("throughput").unit, "samples/s");
  EXPECT_THAT(value(record, "throughput_per_gpu"), DoubleNear(32 / 0.020, 1e-6));
  EXPECT_THAT(value(record, "tflops"), DoubleNear(200, 1e-9));
  EXPECT_THAT(value(record, "mfu"), DoubleNear(20, 1e-9));
}

TEST(LaunchSummary, InitIsTheSumOfPhasesOfTheSlowestRank) {
  const auto cell = two_rank_cell();
  auto facts = facts_of(cell);
  facts.ranks[1].phases_s["rendezvous"] = 3;
  const auto record = summarise(cell, facts);
  EXPECT_DOUBLE_EQ(value(record, "init_latency"), 4.75);
  EXPECT_DOUBLE_EQ(value(record, "first_step_latency"), 2.0);
  EXPECT_GE(value(record, "time_to_steady"), 6.75);
}

TEST(LaunchSummary, MemoryIsTheLargestRankAndUnknownMemoryIsAbsentNotZero) {
  const auto cell = two_rank_cell();
  auto facts = facts_of(cell);
  facts.ranks[1].memory_steady.allocated_mib = 1200;
  facts.ranks[0].outside_mib.reset();
  const auto record = summarise(cell, facts);
  EXPECT_DOUBLE_EQ(value(record, "peak_memory"), 1200);
  EXPECT_DOUBLE_EQ(value(record, "peak_memory_first_step"), 1500);
  EXPECT_FALSE(record.metrics.at("outside_memory").value);
  EXPECT_FALSE(record.metrics.at("outside_memory").absent.empty());
}

TEST(LaunchSummary, EveryMetricOfTheCatalogueIsThereWithANumberOrAReason) {
  const auto cell = two_rank_cell();
  for (const auto& facts : {facts_of(cell), LaunchFacts{0, 1, Status::oom, "out of memory", "", 1, {}, {}}}) {
    const auto record = summarise(cell, facts);
    for (const auto& metric : metric_catalogue()) {
      const auto& found = record.metrics.at(metric.name);
      EXPECT_TRUE(found.value.has_value() != !found.absent.empty()) << metric.name;
    }
  }
}

TEST(LaunchSummary, CompilationInTheWarmUpNeverReachesTheSteadyStep) {
  auto cell = two_rank_cell();
  auto facts = facts_of(cell);
  for (auto& rank : facts.ranks) {
    rank.step_ms.assign(80, 100);
    rank.step_ms[0] = 5000;
    rank.step_ms[1] = 60000;
    rank.step_ms[2] = 1000;
    rank.measured_from = 20;
    rank.first_step_s = 5;
  }
  const auto record = summarise(cell, facts);
  EXPECT_DOUBLE_EQ(value(record, "step_time"), 100);
  EXPECT_THAT(value(record, "time_to_steady"), DoubleNear(1.75 + 5 + 61, 0.5));
}

TEST(LaunchSummary, AChangeOfLevelInTheMiddleIsUnsteadyAndFeedsNothing) {
  const auto cell = two_rank_cell();
  auto facts = facts_of(cell);
  for (auto& rank : facts.ranks) {
    for (std::size_t i = 40; i < rank.step_ms.size(); ++i) rank.step_ms[i] *= 1.5;
  }
  const auto record = summarise(cell, facts);
  EXPECT_EQ(record.status, Status::unsteady);
  EXPECT_FALSE(record.reason.empty());
}

TEST(LaunchSummary, AShiftThatNoVerdictCouldRestOnIsNotUnsteady) {
  auto cell = two_rank_cell();
  auto facts = facts_of(cell);
  for (auto& rank : facts.ranks) {
    for (std::size_t i = 40; i < rank.step_ms.size(); ++i) rank.step_ms[i] *= 1.1;
  }
  EXPECT_EQ(summarise(cell, facts).status, Status::unsteady);
  cell.tolerance["throughput"].relative = 0.25;
  EXPECT_EQ(summarise(cell, facts).status, Status::ok);
}

TEST(LaunchSummary, RanksThatDisagreeAboutTheirStepsAreNotAResult) {
  const auto cell = two_rank_cell();
  auto facts = facts_of(cell);
  facts.ranks[1].step_ms.pop_back();
  const auto record = summarise(cell, facts);
  EXPECT_EQ(record.status, Status::crashed);
  EXPECT_THAT(record.reason, HasSubstr("rank 1 reports 60 steps"));
}

TEST(LaunchSummary, AFailedLaunchKeepsItsStatusAndPublishesNoNumber) {
  const auto cell = two_rank_cell();
  LaunchFacts facts;
  facts.status = Status::oom;
  facts.reason = "rank 1: out of memory";
  facts.ranks = {rank_record(cell, 0, 10)};
  const auto record = summarise(cell, facts);
  EXPECT_EQ(record.status, Status::oom);
  EXPECT_EQ(record.reason, "rank 1: out of memory");
  EXPECT_FALSE(record.metrics.at("throughput").value);
  EXPECT_THAT(record.metrics.at("throughput").absent, HasSubstr("oom"));
}

TEST(LaunchSummary, CostFollowsThePriceAndTheRanks) {
  auto cell = two_rank_cell();
  cell.price_per_gpu_hour = 3.6;
  const auto record = summarise(cell, facts_of(cell));
  // 2 GPUs at 3.6 an hour are 0.002 a second; 3200 samples/s.
  EXPECT_THAT(value(record, "cost"), DoubleNear(0.002 / 3200 * 1e6, 1e-9));
}

TEST(LaunchSummary, ZeroStepTimesAreTooShortToMeasure) {
  const auto cell = two_rank_cell();
  auto facts = facts_of(cell);
  for (auto& rank : facts.ranks) rank.step_ms.assign(61, 0);
  EXPECT_NE(summarise(cell, facts).status, Status::ok);
}

TEST(LaunchSummary, AGapBetweenHostAndDeviceClockIsNoted) {
  const auto cell = two_rank_cell();
  auto facts = facts_of(cell);
  facts.ranks[0].detail["wall"] = {{"measured_wall_s", 5.0}, {"measured_device_s", 0.5}};
  const auto record = summarise(cell, facts);
  EXPECT_EQ(record.detail.at("notes").size(), 1u);
}

}  // namespace
}  // namespace stepgauge::summary
