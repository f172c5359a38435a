// What ranks leave running, what they print, and the death of the launcher itself.
#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "launch_support.hpp"

namespace stepgauge::launch::test {
namespace {

using ::testing::HasSubstr;

using Tree = LaunchTest;

TEST_F(Tree, ADaemonThatHoldsThePipesIsFoundAndEnded) {
  const auto outcome = launch_stub(small_cell(2), {"--mode", "daemon", "--rank", "1"});
  EXPECT_EQ(outcome.status, Status::ok) << outcome.reason;
  ASSERT_EQ(outcome.evidence.at("left_behind").size(), 1u);
  EXPECT_EQ(outcome.evidence.at("left_behind")[0].at("rank"), 1);
  EXPECT_THAT(outcome.evidence.at("left_behind")[0].at("command").get<std::string>(), HasSubstr("stub-worker"));
  EXPECT_THAT(outcome.evidence.at("notes")[0].get<std::string>(), HasSubstr("rank 1 left 1 process behind: "));
  EXPECT_LT(outcome.duration_s, 10.0);
}

TEST_F(Tree, ADaemonWithoutEnvironmentIsFoundToo) {
  const auto outcome = launch_stub(small_cell(1), {"--mode", "daemon-hidden"});
  EXPECT_EQ(outcome.status, Status::ok) << outcome.reason;
  ASSERT_EQ(outcome.evidence.at("left_behind").size(), 1u);
  EXPECT_TRUE(outcome.evidence.at("left_behind")[0].at("rank").is_null());
  EXPECT_EQ(outcome.evidence.at("left_behind")[0].at("command"), "sleep 1000");
}

TEST_F(Tree, ADaemonThatIgnoresSigtermIsKilled) {
  const auto outcome = launch_stub(small_cell(1), {"--mode", "daemon-ignore-term"});
  EXPECT_EQ(outcome.status, Status::ok) << outcome.reason;
  EXPECT_GE(outcome.duration_s, 1.0);
  EXPECT_LT(outcome.duration_s, 10.0);
}

TEST_F(Tree, AChildOfTheRankIsEnded) {
  const auto outcome = launch_stub(small_cell(1), {"--mode", "child"});
  EXPECT_EQ(outcome.status, Status::ok) << outcome.reason;
  EXPECT_EQ(outcome.evidence.at("left_behind").size(), 1u);
}

TEST_F(Tree, AChainOfForksIsOutrun) {
  const auto outcome = launch_stub(small_cell(1), {"--mode", "fork-bomb-lite"});
  EXPECT_EQ(outcome.status, Status::ok) << outcome.reason;
  EXPECT_LT(outcome.duration_s, 15.0);
}

TEST_F(Tree, ChildrenThatWereThereBeforeAreNotTouched) {
  const pid_t mine = ::fork();
  if (mine == 0) {
    ::pause();
    ::_exit(0);
  }
  LaunchRequest request;
  request.cell = small_cell(1);
  request.command = {stub_path(), "--mode", "daemon"};
  request.folder = folder();
  EXPECT_EQ(local_launcher()->launch(request, {}).status, Status::ok);
  EXPECT_EQ(::waitpid(mine, nullptr, WNOHANG), 0) << "the launcher ended a process that is not its own";
  ::kill(mine, SIGKILL);
  ::waitpid(mine, nullptr, 0);
}

TEST_F(Tree, RanksDieWithTheLauncher) {
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    LaunchRequest request;
    request.cell = small_cell(2);
    request.command = {stub_path(), "--mode", "ignore-term"};
    request.folder = folder();
    local_launcher()->launch(request, [&](const Progress& progress) {
      if (progress.step == 12) ::kill(::getpid(), SIGKILL);
    });
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(launcher, &status, 0), launcher);
  EXPECT_TRUE(WIFSIGNALED(status));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  expect_nothing_left();
}

TEST_F(Tree, HundredMegabytesOfOutputAreKeptSmall) {
  for (const std::string stream : {"out", "err"}) {
    const auto outcome = launch_stub(small_cell(1), {"--mode", stream == "out" ? "spam" : "spam-err"});
    EXPECT_EQ(outcome.status, Status::ok) << outcome.reason;
    const auto file = folder() / ("launch4/rank0." + stream);
    EXPECT_LT(std::filesystem::file_size(file), (512u << 10) + 200);
    EXPECT_EQ(outcome.ranks[0].out_bytes + outcome.ranks[0].err_bytes, 100u << 20);
    EXPECT_EQ(outcome.ranks[0].dropped_bytes, (100u << 20) - (512u << 10));
    EXPECT_THAT(slurp(file), HasSubstr("[stepgauge: 104333312 bytes dropped here]"));
    EXPECT_LT(outcome.duration_s, 20.0);
    RecordProperty("spam_" + stream + "_ms", static_cast<int>(outcome.duration_s * 1000));
  }
}

TEST_F(Tree, WhatAPersonIsShownIsPrintable) {
  const auto outcome = launch_stub(small_cell(1), {"--mode", "nonsense"});
  ASSERT_EQ(outcome.ranks[0].last_lines.size(), 1u);
  EXPECT_EQ(outcome.ranks[0].last_lines[0], R"(\x1b[31mred\x1b[0m \x07 \xff\xfe tab\there)");
  EXPECT_EQ(outcome.ranks[0].err_bytes, 28u);
}

}  // namespace
}  // namespace stepgauge::launch::test
