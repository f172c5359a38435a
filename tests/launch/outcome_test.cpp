#include "launch/outcome.hpp"

#include <gmock/gmock.h>

#include <csignal>

#include "launch/rank_record_file.hpp"

namespace stepgauge::launch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RankExit ended(int rank, Status status, double at_s) {
  RankExit out;
  out.rank = rank;
  out.exit_code = status == Status::ok ? 0 : 1;
  out.ended_s = at_s;
  out.record = RankRecord{};
  out.record->status = status;
  if (status != Status::ok) out.record->reason = "why";
  return out;
}

RankExit died(int rank, int signal, double at_s) {
  RankExit out;
  out.rank = rank;
  out.signal = signal;
  out.ended_s = at_s;
  out.record_error = no_record;
  return out;
}

Judgement judged(std::vector<RankExit> ranks) {
  return judge({std::move(ranks), std::nullopt, false, {}, {}, {}});
}

TEST(Judge, OkNeedsEveryRank) {
  EXPECT_EQ(judged({ended(0, Status::ok, 1), ended(1, Status::ok, 2)}).status, Status::ok);
  EXPECT_EQ(judged({ended(0, Status::ok, 1), ended(1, Status::oom, 2)}).status, Status::oom);
  auto silent = ended(1, Status::ok, 2);
  silent.record.reset();
  silent.record_error = no_record;
  EXPECT_EQ(judged({ended(0, Status::ok, 1), silent}).status, Status::crashed);
}

TEST(Judge, TheFirstRankToFailDecides) {
  const auto oom_first = judged({ended(0, Status::crashed, 5), ended(1, Status::oom, 2)});
  EXPECT_EQ(oom_first.status, Status::oom);
  EXPECT_EQ(oom_first.reason, "rank 1: why");
  const auto death_first = judged({died(0, SIGSEGV, 1), ended(1, Status::incorrect, 2)});
  EXPECT_EQ(death_first.status, Status::crashed);
  EXPECT_THAT(death_first.reason, HasSubstr("rank 0 died by SIGSEGV"));
}

TEST(Judge, AFailureIsAsOldAsItsRecordNotAsTheEndOfTheProcess) {
  auto slow_to_leave = ended(1, Status::oom, 9);
  slow_to_leave.record_s = 2;  // it knew at 2 s and took 7 s to tear its groups down; rank 0 saw the connection close
  EXPECT_EQ(judged({ended(0, Status::crashed, 3), slow_to_leave}).status, Status::oom);
  auto other_clock = slow_to_leave;
  other_clock.record_s = 1e9;  // a file server with another clock cannot move it behind its own end
  other_clock.ended_s = 2;
  EXPECT_EQ(judged({ended(0, Status::crashed, 3), other_clock}).status, Status::oom);
}

TEST(Judge, InANearTieTheCauseGoesBeforeTheEcho) {
  auto echo = ended(0, Status::crashed, 1.00);
  EXPECT_THAT(judged({echo, died(1, SIGKILL, 1.01)}).reason, HasSubstr("rank 1 died by SIGKILL"));
  EXPECT_EQ(judged({echo, ended(1, Status::oom, 1.02)}).status, Status::oom);
  EXPECT_THAT(judged({echo, died(1, SIGKILL, 1.2)}).reason, HasSubstr("rank 0: why"));
}

TEST(Judge, WhoTheLauncherEndedIsNotToBlame) {
  auto killed = died(0, SIGTERM, 1);
  killed.killed_by_harness = true;
  EXPECT_THAT(judged({killed, ended(1, Status::oom, 3)}).reason, HasSubstr("rank 1"));
}

TEST(Judge, WhatTheLaunchDiedOfAsAWholeGoesBeforeItsRanks) {
  LaunchFacts facts{
      {died(0, SIGTERM, 1)}, std::nullopt, false, {}, Judgement{Status::skipped, "cancelled by Slurm"}, {}};
  EXPECT_EQ(judge(facts).status, Status::skipped);
  EXPECT_EQ(judge(facts).reason, "cancelled by Slurm");
}

TEST(Judge, StartInterruptAndHangGoFirst) {
  LaunchFacts facts{{died(0, SIGTERM, 1)}, Hang{"silence", 1, 2, 0, "the hang"}, true, "cannot start x: no", {}, {}};
  EXPECT_EQ(judge(facts).reason, "cannot start x: no");
  facts.start_error.clear();
  EXPECT_EQ(judge(facts).status, Status::skipped);
  facts.stopped_by_user = false;
  EXPECT_EQ(judge(facts).status, Status::hung);
  EXPECT_EQ(judge(facts).reason, "the hang");
}

TEST(Judge, ARecordWithControlCharactersIsShownPrintable) {
  auto rank = ended(0, Status::incorrect, 1);
  rank.record->reason = "\x1b[2Jgone";
  EXPECT_EQ(judged({rank}).reason, "\\x1b[2Jgone");
}

RankState at(int rank, const char* phase, std::optional<std::int64_t> step, double last_sign_s) {
  return {rank, true, phase, step, last_sign_s};
}

TEST(DescribeHang, TheRankThatGotLeastFarIsOdd) {
  const auto hang = describe_hang("silence", 10, 30, {at(0, "measure", 13, 20.0), at(1, "measure", 12, 19.5)});
  EXPECT_EQ(hang.odd_rank, 1);
  EXPECT_EQ(hang.reason,
            "no sign of life for 10 s: rank 1 last seen in phase measure, step 12, 10.5 s before; rank 0 in phase "
            "measure, step 13");
  EXPECT_EQ(describe_hang("silence", 10, 30, {at(0, "measure", 3, 20), at(1, "build", std::nullopt, 20)}).odd_rank, 1);
  EXPECT_EQ(describe_hang("silence", 10, 30, {at(0, "", std::nullopt, 0), at(1, "spawn", std::nullopt, 0)}).odd_rank,
            0);
}

TEST(DescribeHang, AtTheSamePlaceTheLongestSilenceIsOdd) {
  EXPECT_EQ(describe_hang("silence", 10, 30, {at(0, "measure", 3, 24), at(1, "measure", 3, 20)}).odd_rank, 1);
  EXPECT_EQ(describe_hang("silence", 10, 30, {at(0, "measure", 3, 20.3), at(1, "measure", 3, 20)}).odd_rank,
            std::nullopt);
}

TEST(DescribeHang, ARankThatStillTalksIsNotOdd) {
  EXPECT_EQ(describe_hang("silence", 10, 30, {at(0, "warmup", 2, 29.9), at(1, "measure", 3, 20)}).odd_rank, 1);
  const auto slow = describe_hang("deadline", 30, 30, {at(0, "measure", 2, 29.9), at(1, "measure", 3, 29.8)});
  EXPECT_EQ(slow.odd_rank, std::nullopt);
  EXPECT_EQ(slow.reason, "not done after 30 s: rank 0 in phase measure, step 2; rank 1 in phase measure, step 3");
}

TEST(DescribeHang, CompilingForTooLongIsSaid) {
  EXPECT_EQ(describe_hang(compile_limit, 600, 610, {at(0, "first_step", std::nullopt, 10)}).reason,
            "no sign of life for 600 s in phase first_step: compiling took longer than limits.compile");
  EXPECT_EQ(describe_hang(compile_limit, 600, 610, {at(0, "verify", std::nullopt, 10)}).reason,
            "no sign of life for 600 s in phase verify: it took longer than limits.compile");
  EXPECT_EQ(describe_hang(compile_limit, 600, 610, {at(0, "warmup", 2, 300), at(1, "warmup", 1, 10)}).reason,
            "no sign of life for 600 s in phase warmup: compiling took longer than limits.compile; rank 1 last seen in "
            "phase warmup, step 1, 600.0 s before; rank 0 in phase warmup, step 2");
  EXPECT_EQ(
      describe_hang(compile_limit, 600, 610, {at(0, "compile", std::nullopt, 10), at(1, "compile", std::nullopt, 10)})
          .reason,
      "no sign of life for 600 s in phase compile: compiling took longer than limits.compile; ranks 0, 1 in phase "
      "compile");
}

TEST(MayCompile, ByModeAndPhase) {
  for (const auto* phase : {"compile", "first_step", "warmup"}) {
    EXPECT_TRUE(may_compile("torchscript", phase)) << phase;
    EXPECT_TRUE(may_compile("cuda_graph", phase)) << phase;
    EXPECT_TRUE(may_compile("compile.default", phase)) << phase;
    EXPECT_FALSE(may_compile("eager", phase)) << phase;
    EXPECT_FALSE(may_compile("python_eager", phase)) << phase;
  }
  EXPECT_TRUE(may_compile("python_eager", "runtime"));
  EXPECT_FALSE(may_compile("torchscript", "runtime"));
  EXPECT_TRUE(may_compile("eager", "verify"));
  for (const auto* phase : {"spawn", "rendezvous", "build", "wrap", "measure", "trace", "finish", ""})
    EXPECT_FALSE(may_compile("compile.default", phase)) << phase;
}

TEST(DescribeHang, ARankThatIsTracedIsFurtherThanOneThatMeasures) {
  EXPECT_EQ(describe_hang("silence", 10, 30, {at(0, "trace", 3, 20), at(1, "measure", 3, 20)}).odd_rank, 1);
}

TEST(DescribeHang, ManyRanksStayReadable) {
  std::vector<RankState> states;
  for (int rank = 0; rank < 8; ++rank) states.push_back(at(rank, "measure", rank == 5 ? 12 : 13, 20));
  states[7].running = false;
  EXPECT_EQ(describe_hang("silence", 10, 30, states).reason,
            "no sign of life for 10 s: rank 5 last seen in phase measure, step 12, 10.0 s before; "
            "ranks 0, 1, 2, 3, 4, 6 in phase measure, step 13; rank 7 had ended");
}

TEST(Evidence, NamesWhatWasLeftBehind) {
  Surroundings surroundings;
  surroundings.left_behind = {{0, 11, "sleep 1"}, {0, 12, "sleep 2"}, {std::nullopt, 13, "x"}};
  const auto evidence =
      evidence_json({{ended(0, Status::ok, 1)}, std::nullopt, false, {}, {}, {}}, surroundings, Status::ok);
  EXPECT_EQ(evidence.at("notes")[0], "a rank left 1 process behind: 13 x");
  EXPECT_EQ(evidence.at("notes")[1], "rank 0 left 2 processes behind: 11 sleep 1; 12 sleep 2");
  EXPECT_FALSE(evidence.at("ranks")[0].contains("last_lines"));
  EXPECT_NO_THROW(dump_line(evidence));
}

}  // namespace
}  // namespace stepgauge::launch
