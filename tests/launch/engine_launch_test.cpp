// Launches through an engine, which a program of the tests stands for: outcomes, killing and refusals are as locally.
#include <gmock/gmock.h>

#include <fstream>
#include <thread>

#include "launch/engine.hpp"
#include "launch/engine_ranks.hpp"
#include "launch/network.hpp"
#include "launch_support.hpp"

namespace stepgauge::launch::test {
namespace {

using ::testing::HasSubstr;

class EngineLaunch : public LaunchTest {
 protected:
  ~EngineLaunch() override { ::unsetenv("FAKE_ENGINE"); }

  LaunchOutcome through_engine(const Cell& cell, std::vector<std::string> arguments, int interrupt_fd = -1,
                               const std::function<void(const Progress&)>& on_progress = {}) {
    arguments.insert(arguments.begin(), stub_path());
    return through_engine_with(cell, std::move(arguments), interrupt_fd, on_progress);
  }

  LaunchOutcome through_engine_with(const Cell& cell, std::vector<std::string> command, int interrupt_fd = -1,
                                    const std::function<void(const Progress&)>& on_progress = {}) {
    LaunchRequest request;
    request.cell = cell;
    request.launch = 4;
    request.command = std::move(command);
    request.folder = launch_folder();
    request.interrupt_fd = interrupt_fd;
    const auto bin = std::filesystem::absolute(std::filesystem::path(stub_path()).parent_path());
    auto outcome =
        engine_launcher({Engine::mpirun, bin / "fake-engine", bin / "rank-agent", {}})->launch(request, on_progress);
    expect_nothing_left();
    return outcome;
  }

  std::filesystem::path launch_folder() const { return folder() / "launch4"; }
};

TEST_F(EngineLaunch, RanksMeetAndAreReadAsLocally) {
  std::vector<std::string> phases;
  auto cell = small_cell(3);
  const auto outcome = through_engine(cell, {"--rendezvous"}, -1, [&](const Progress& progress) {
    if (progress.rank == 2) phases.push_back(progress.phase);
  });
  ASSERT_EQ(outcome.status, Status::ok) << outcome.reason << outcome.evidence.dump(1);
  ASSERT_EQ(outcome.ranks.size(), 3u);
  for (const auto& rank : outcome.ranks) {
    EXPECT_TRUE(rank.record) << rank.record_error;
    EXPECT_EQ(rank.exit_code, 0);
    EXPECT_GT(rank.max_rss_kib, 0);
    EXPECT_EQ(rank.host, host_name());
    EXPECT_FALSE(rank.phases.empty());
    EXPECT_LE(rank.ended_s, outcome.duration_s + 0.1);
  }
  EXPECT_FALSE(phases.empty());
  EXPECT_EQ(outcome.evidence.at("engine").at("exit_code"), 0);
  EXPECT_TRUE(std::filesystem::exists(launch_folder() / "rank2.out"));
}

TEST_F(EngineLaunch, ARankSeesNothingButTheContract) {
  ::setenv("SECRET_TOKEN", "x", 1);
  const auto outcome = through_engine(small_cell(2), {"--dump-environment"});
  ::unsetenv("SECRET_TOKEN");
  ASSERT_EQ(outcome.status, Status::ok) << outcome.reason;
  const auto text = slurp(launch_folder() / "rank1.json");
  EXPECT_EQ(text.find("SECRET_TOKEN"), std::string::npos);
  EXPECT_EQ(text.find("OMPI_COMM_WORLD_RANK"), std::string::npos) << "only backend mpi gets the engine's variables";
}

TEST_F(EngineLaunch, ADeadRankIsNamedAndItsSiblingsEnd) {
  const auto outcome = through_engine(small_cell(3), {"--mode", "die", "--rank", "1", "--others", "hang"});
  EXPECT_EQ(outcome.status, Status::crashed);
  EXPECT_THAT(outcome.reason, HasSubstr("rank 1 died by SIGKILL"));
  EXPECT_TRUE(outcome.ranks[0].killed_by_harness);
  EXPECT_EQ(outcome.ranks[0].signal, SIGTERM);
  EXPECT_LT(outcome.duration_s, 10);
}

TEST_F(EngineLaunch, ASilentRankIsHungAndTheOddOneIsNamed) {
  auto cell = small_cell(2);
  cell.limits = {60, 3, 0.5};
  const auto outcome = through_engine(cell, {"--mode", "hang-rank1", "--at-step", "17"});
  EXPECT_EQ(outcome.status, Status::hung);
  EXPECT_THAT(outcome.reason, HasSubstr("no sign of life for 3 s: rank 1 last seen in phase measure, step 17"));
  EXPECT_EQ(outcome.evidence.at("hang").at("odd_rank"), 1);
}

TEST_F(EngineLaunch, NothingOutlivesTheDeadline) {
  auto cell = small_cell(2);
  cell.limits = {2, 60, 0.5};
  const auto outcome = through_engine(cell, {"--mode", "ignore-term"});
  EXPECT_EQ(outcome.status, Status::hung);
  EXPECT_THAT(outcome.reason, HasSubstr("not done after 2 s"));
  EXPECT_EQ(outcome.ranks[0].signal, SIGKILL);
}

TEST_F(EngineLaunch, AnInterruptEndsEverything) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto outcome = through_engine(small_cell(2), {"--mode", "hang"}, ends[0], [&](const Progress& progress) {
    if (progress.phase == "measure" || progress.step.value_or(0) >= 12) [[maybe_unused]]
      const auto n = ::write(ends[1], "i", 1);
  });
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(outcome.status, Status::skipped);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(EngineLaunch, WhatARankLeavesBehindIsFoundOnItsHost) {
  const auto outcome = through_engine(small_cell(2), {"--mode", "daemon", "--rank", "1"});
  EXPECT_EQ(outcome.status, Status::ok) << outcome.reason;
  ASSERT_TRUE(outcome.evidence.contains("left_behind")) << outcome.evidence.dump(1);
  EXPECT_EQ(outcome.evidence.at("left_behind").at(0).at("rank"), 1);
}

TEST_F(EngineLaunch, AWorkerThatIsNotThereIsSaid) {
  const auto outcome = through_engine_with(small_cell(2), {"no-such-worker"});
  EXPECT_EQ(outcome.status, Status::crashed);
  EXPECT_THAT(outcome.reason, HasSubstr("cannot start no-such-worker"));
}

TEST_F(EngineLaunch, AnInterfaceThatIsNotThereIsRefused) {
  auto cell = small_cell(2);
  cell.ddp.interface = "nosuch0";
  const auto outcome = through_engine(cell, {});
  EXPECT_EQ(outcome.status, Status::crashed);
  EXPECT_THAT(outcome.reason, HasSubstr("no network interface \"nosuch0\""));
}

TEST_F(EngineLaunch, AnEngineThatStartsOtherRanksIsRefused) {
  ::setenv("FAKE_ENGINE", "one-too-few", 1);
  const auto outcome = through_engine(small_cell(3), {});
  EXPECT_EQ(outcome.status, Status::crashed);
  EXPECT_THAT(outcome.reason, HasSubstr("started 2 ranks, 3 are asked for"));
}

TEST_F(EngineLaunch, AnEngineThatRefusesIsQuoted) {
  ::setenv("FAKE_ENGINE", "refuses", 1);
  const auto outcome = through_engine(small_cell(2), {});
  EXPECT_EQ(outcome.status, Status::crashed);
  EXPECT_THAT(outcome.reason,
              HasSubstr("ended with exit code 1 without a word of ranks 0, 1; last line: there are not enough slots"));
}

TEST_F(EngineLaunch, AnEngineThatDiesTakesItsRanksAlong) {
  ::setenv("FAKE_ENGINE", "die", 1);
  const auto outcome = through_engine(small_cell(2), {"--realtime", "--step-ms", "500"});
  EXPECT_EQ(outcome.status, Status::crashed);
  EXPECT_THAT(outcome.reason, HasSubstr("mpirun died by SIGKILL"));
}

TEST_F(EngineLaunch, AnAgentThatFallsSilentIsAHostThatVanished) {
  ::setenv("FAKE_ENGINE", "lose-agent", 1);
  auto cell = small_cell(2);
  cell.limits = {60, 30, 0.5};
  const auto outcome = through_engine(cell, {"--realtime", "--step-ms", "500"});
  EXPECT_EQ(outcome.status, Status::crashed);
  EXPECT_THAT(outcome.reason, HasSubstr("host " + host_name() + " vanished (rank 1): no word for 1"));
  EXPECT_LT(outcome.duration_s, 25);
}

}  // namespace
}  // namespace stepgauge::launch::test
