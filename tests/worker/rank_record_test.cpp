// What a rank writes down of what it measured.
#include "worker/rank_record.hpp"

#include <gmock/gmock.h>

#include <limits>

namespace stepgauge::worker {
namespace {

using ::testing::EndsWith;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Measured {
  Measured() : room(make_cpu_room()) {
    cell.batch = 3;
    loop.step_ms = {90, 30, 20, 22};
    loop.measured_from = 2;
    loop.measured_wall_s = 0.05;
    loop.losses = {torch::tensor(2.0), torch::tensor(1.5)};
    loop.last_loss = torch::tensor(1.0);
  }
  RankRecord record() const {
    const auto workload = workloads::make_workload(
        "llama",
        {{"layers", 1}, {"hidden", 8}, {"heads", 1}, {"kv_heads", 1}, {"ffn", 8}, {"vocab", 16}, {"sequence", 4}});
    RankRecord out;
    record_loop(out, loop, cell, *workload, *room);
    return out;
  }

  Cell cell;
  LoopResult loop;
  std::unique_ptr<DeviceRoom> room;
};

TEST(RankRecord, HasTheLossesAndTheTimeOfTheMeasuredSteps) {
  const auto record = Measured().record();
  EXPECT_EQ(record.status, Status::ok);
  EXPECT_EQ(record.detail["losses"], Json({2.0, 1.5}));
  EXPECT_EQ(record.detail["last_loss"], 1.0);
  EXPECT_DOUBLE_EQ(record.detail["wall"]["measured_device_s"].get<double>(), 0.042);
  EXPECT_EQ(record.detail["warmup"]["steps"], 1);
  EXPECT_DOUBLE_EQ(record.work_per_step, 12);  // tokens
}

TEST(RankRecord, ALossThatIsNotFiniteMakesTheLaunchIncorrectAndNamesTheStep) {
  Measured early;
  early.loop.losses[1] = torch::tensor(nan);
  EXPECT_EQ(early.record().status, Status::incorrect);
  EXPECT_EQ(early.record().reason, "the loss of step 1 is not finite");
  EXPECT_EQ(early.record().detail["losses"], Json({2.0, nullptr}));
  Measured late;
  late.loop.last_loss = torch::tensor(std::numeric_limits<double>::infinity());
  EXPECT_EQ(late.record().status, Status::incorrect);
  EXPECT_EQ(late.record().reason, "the loss of step 3 is not finite");
}

TEST(RankRecord, WorkAndOperationsAreOfAllMicroSteps) {
  Measured one, four;
  four.cell.ddp.overlap = "ddp_no_sync_4";
  EXPECT_DOUBLE_EQ(four.record().work_per_step, 4 * one.record().work_per_step);
  EXPECT_DOUBLE_EQ(four.record().flops_per_step.value(), 4 * one.record().flops_per_step.value());
  EXPECT_THAT(four.record().flops_formula, EndsWith(", x 4 micro-steps"));
}

TEST(RankRecord, AProgramThatComputesSomethingElseIsIncorrect) {
  RankRecord good, bad;
  record_parity(good, {{"agrees", true}});
  EXPECT_EQ(good.status, Status::ok);
  record_parity(bad, {{"agrees", false}, {"first_difference", "loss of step 2"}});
  EXPECT_EQ(bad.status, Status::incorrect);
  EXPECT_EQ(bad.reason, "does not compute what the eager reference does: loss of step 2");
}

TEST(RankRecord, ALongReasonIsCut) {
  RankRecord record;
  record_failure(record, Status::crashed, std::string(5000, 'x'));
  EXPECT_EQ(record.reason.size(), 2000u);
}

TEST(RankRecord, SaysWhatItRanWithEvenWhereNoDeviceCouldBeHad) {
  RankRecord record;
  record_place(record, nullptr, nullptr);
  EXPECT_TRUE(record.detail["software"].contains("torch"));
  EXPECT_FALSE(record.detail.contains("device"));
}

}  // namespace
}  // namespace stepgauge::worker
