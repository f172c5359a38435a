// The launcher's own clocks: silence, deadline, grace, the user's interrupt.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <thread>

#include "launch_support.hpp"

namespace stepgauge::launch::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Clocks = LaunchTest;

Cell impatient_cell(int ranks, double silence_s) {
  auto cell = small_cell(ranks);
  cell.limits = {60, silence_s, 0.5};
  return cell;
}

TEST_F(Clocks, ASilentRankIsHungAndTheOddOneIsNamed) {
  const auto outcome = launch_stub(impatient_cell(2, 3), {"--mode", "hang-rank1", "--at-step", "17"});
  EXPECT_EQ(outcome.status, Status::hung);
  EXPECT_THAT(outcome.reason, HasSubstr("no sign of life for 3 s: rank 1 last seen in phase measure, step 17"));
  EXPECT_THAT(outcome.reason, HasSubstr("; rank 0 in phase measure, step 18"));
  EXPECT_EQ(outcome.evidence.at("hang").at("odd_rank"), 1);
  EXPECT_EQ(outcome.evidence.at("hang").at("limit"), "silence");
  EXPECT_TRUE(outcome.ranks[0].killed_by_harness);
  EXPECT_EQ(outcome.ranks[0].signal, SIGTERM);
  EXPECT_LT(outcome.duration_s, 10.0);
}

TEST_F(Clocks, RanksThatHangAtTheSamePlaceAreNotBlamed) {
  const auto outcome = launch_stub(impatient_cell(2, 3), {"--mode", "hang", "--at-step", "17"});
  EXPECT_EQ(outcome.status, Status::hung);
  EXPECT_THAT(outcome.reason, HasSubstr("ranks 0, 1 in phase measure, step 17"));
  EXPECT_TRUE(outcome.evidence.at("hang").at("odd_rank").is_null());
}

TEST_F(Clocks, ABusyRankWithoutAWordIsHungToo) {
  const auto outcome = launch_stub(impatient_cell(1, 1), {"--mode", "spin"});
  EXPECT_EQ(outcome.status, Status::hung);
  EXPECT_THAT(outcome.reason, HasSubstr("rank 0 last seen in phase"));
}

TEST_F(Clocks, ProgressKeepsARankAliveUntilTheDeadline) {
  auto cell = small_cell(1);
  cell.measure.steps = 100'000;
  cell.limits = {4, 3, 0.5};
  const auto outcome = launch_stub(cell, {"--realtime", "--step-ms", "50"});
  EXPECT_EQ(outcome.status, Status::hung);
  EXPECT_THAT(outcome.reason, HasSubstr("not done after 4 s"));
  EXPECT_EQ(outcome.evidence.at("hang").at("limit"), "deadline");
  EXPECT_TRUE(outcome.evidence.at("hang").at("odd_rank").is_null());
  EXPECT_GE(outcome.duration_s, 4.0);
  EXPECT_LT(outcome.duration_s, 12.0);
}

Cell compiled_cell(const std::string& mode, double compile_s) {
  auto cell = small_cell(1);
  cell.compile = mode;
  cell.cache = "cold";
  cell.limits = {60, 1, 0.5, compile_s};
  assign_identity(cell);
  return cell;
}

TEST_F(Clocks, AModeThatCompilesMayBeSilentForLonger) {
  const auto outcome = launch_stub(compiled_cell("compile.default", 20), {"--stall", "first_step:2"});
  EXPECT_EQ(outcome.status, Status::ok) << outcome.reason;
  const auto eager = launch_stub(impatient_cell(1, 1), {"--stall", "first_step:2"});
  EXPECT_EQ(eager.status, Status::hung);
  EXPECT_EQ(eager.evidence.at("hang").at("limit"), "silence");
}

TEST_F(Clocks, ACompileBeyondItsDeadlineIsHung) {
  const auto outcome = launch_stub(compiled_cell("compile.default", 2), {"--stall", "first_step:30"});
  EXPECT_EQ(outcome.status, Status::hung);
  EXPECT_EQ(outcome.reason, "no sign of life for 2 s in phase first_step: compiling took longer than limits.compile");
  EXPECT_EQ(outcome.evidence.at("hang").at("limit"), "compile");
}

TEST_F(Clocks, OutputIsASignOfLifeToo) {
  auto cell = small_cell(1);
  cell.limits = {60, 3, 0.5};
  const auto outcome = launch(cell, {"/bin/sh", "-c", "for i in 1 2 3 4; do echo $i; sleep 1; done"});
  EXPECT_EQ(outcome.status, Status::crashed) << outcome.reason;  // without a record, but not hung
  EXPECT_GE(outcome.duration_s, 4.0);
}

TEST_F(Clocks, WhoIgnoresSigtermIsKilledAfterTheGrace) {
  const auto outcome = launch_stub(impatient_cell(2, 3), {"--mode", "ignore-term"});
  EXPECT_EQ(outcome.status, Status::hung);
  EXPECT_EQ(outcome.ranks[0].signal, SIGKILL);
  EXPECT_EQ(outcome.ranks[1].signal, SIGKILL);
  EXPECT_TRUE(outcome.ranks[1].killed_by_harness);
  EXPECT_GE(outcome.duration_s, 3.5);
  EXPECT_LT(outcome.duration_s, 10.0);
}

TEST_F(Clocks, ARankThatLeavesPolitelyOnSigtermStaysHung) {
  const auto outcome = launch_stub(impatient_cell(1, 3), {"--mode", "term-exit0"});
  EXPECT_EQ(outcome.status, Status::hung);
  EXPECT_EQ(outcome.ranks[0].exit_code, 0);
}

TEST_F(Clocks, AnInterruptEndsEverythingSoon) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  auto cell = small_cell(2);
  cell.limits.grace_s = 30;  // capped to 2 s: a person is waiting
  std::set<int> hanging;
  const auto interrupt_once_all_hang = [&](const Progress& progress) {
    if (progress.step == 12 && hanging.insert(progress.rank).second && hanging.size() == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));  // from the word of step 12 to SIG_IGN
      EXPECT_EQ(::write(ends[1], "x", 1), 1);
    }
  };
  const auto outcome = launch_stub(cell, {"--mode", "ignore-term"}, ends[0], interrupt_once_all_hang);
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(outcome.status, Status::skipped);
  EXPECT_EQ(outcome.reason, "interrupted by the user");
  EXPECT_EQ(outcome.ranks[0].signal, SIGKILL);
  EXPECT_GE(outcome.duration_s, 2.0);
  EXPECT_LT(outcome.duration_s, 12.0);

  const auto next = launch_stub(cell, {}, ends[0]);  // still readable: nothing is started
  EXPECT_TRUE(next.interrupted);
  EXPECT_EQ(next.status, Status::skipped);
  EXPECT_EQ(next.ranks[0].pid, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace stepgauge::launch::test
