// Launches that go well, ranks that die, and workers that cannot be started.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <map>

#include "launch_support.hpp"

namespace stepgauge::launch::test {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Launch = LaunchTest;

TEST_F(Launch, AGoodWorkerIsOkWithEveryNumber) {
  const auto cell = small_cell(1);
  std::vector<std::string> phases;
  const auto outcome = launch_stub(cell, {}, -1, [&](const Progress& progress) { phases.push_back(progress.phase); });
  EXPECT_EQ(outcome.status, Status::ok) << outcome.reason;
  EXPECT_EQ(outcome.reason, "");
  EXPECT_FALSE(outcome.interrupted);
  ASSERT_EQ(outcome.ranks.size(), 1u);
  const auto& rank = outcome.ranks[0];
  EXPECT_EQ(rank.exit_code, 0);
  EXPECT_FALSE(rank.signal);
  EXPECT_FALSE(rank.killed_by_harness);
  EXPECT_EQ(rank.record_error, "");
  ASSERT_TRUE(rank.record);
  EXPECT_EQ(rank.record->cell_hash, cell.hash);
  EXPECT_EQ(rank.record->launch, 4);
  EXPECT_EQ(rank.last_phase, "finish");
  EXPECT_GT(rank.max_rss_kib, 0);
  EXPECT_GT(rank.ended_s, 0);
  EXPECT_LE(rank.ended_s, outcome.duration_s);
  EXPECT_THAT(phases, Contains("finish"));
  EXPECT_THAT(outcome.started_at, ::testing::MatchesRegex("....-..-..T..:..:..Z"));
  EXPECT_FALSE(outcome.evidence.contains("notes")) << outcome.evidence.dump();
  EXPECT_FALSE(outcome.evidence.contains("left_behind"));
  EXPECT_EQ(cell_from_json(parse_json(slurp(folder() / "launch4/cell.json"), "cell"), "cell").hash, cell.hash);
}

TEST_F(Launch, TellsOfEveryRankThatRunsAndWhenItMeasured) {
  std::vector<std::pair<int, pid_t>> started;
  LaunchRequest request;
  request.cell = small_cell(2);
  request.command = {stub_path(), "--realtime", "--step-ms", "2"};
  request.folder = folder() / "launch0";
  request.on_rank_started = [&](int rank, pid_t pid) { started.emplace_back(rank, pid); };
  const auto before = std::chrono::steady_clock::now();
  const auto outcome = local_launcher()->launch(request, {});
  EXPECT_GE(outcome.began, before);
  ASSERT_EQ(outcome.ranks.size(), 2u);
  for (const auto& rank : outcome.ranks) {
    EXPECT_THAT(started, Contains(std::make_pair(rank.rank, rank.pid)));
    EXPECT_GT(rank.minor_faults, 0);
    std::map<std::string, double> at_s;
    for (const auto& phase : rank.phases) at_s[phase.phase] = phase.at_s;
    EXPECT_GE(at_s.at("finish") - at_s.at("measure"), 0.02) << "20 steps of 2 ms, and the clock of a busy machine";
    EXPECT_LE(at_s.at("finish"), rank.ended_s);
  }
}

TEST_F(Launch, RanksMeetOverTheSocketThatWasOpenedForThem) {
  for (const int ranks : {2, 4}) {
    const auto outcome = launch_stub(small_cell(ranks), {"--rendezvous"});
    EXPECT_EQ(outcome.status, Status::ok) << outcome.reason;
    EXPECT_EQ(outcome.ranks.size(), static_cast<std::size_t>(ranks));
  }
}

TEST_F(Launch, ARankSeesOnlyWhatItShould) {
  ::setenv("SECRET_TOKEN", "hunter2", 1);
  ::setenv("NCCL_DEBUG", "WARN", 1);
  auto cell = small_cell(2);
  cell.env["NCCL_DEBUG"] = "INFO";
  const auto outcome = launch_stub(cell, {"--dump-environment"});
  ::unsetenv("SECRET_TOKEN");
  ::unsetenv("NCCL_DEBUG");
  ASSERT_EQ(outcome.status, Status::ok) << outcome.reason;
  const auto& seen = outcome.ranks[1].record->detail.at("environment");
  EXPECT_FALSE(seen.contains("SECRET_TOKEN"));
  EXPECT_EQ(seen.at("NCCL_DEBUG"), "INFO");
  EXPECT_EQ(seen.at("RANK"), "1");
  EXPECT_FALSE(seen.contains("STEPGAUGE_STORE_FD"));
  EXPECT_TRUE(outcome.ranks[0].record->detail.at("environment").contains("STEPGAUGE_STORE_FD"));
  EXPECT_EQ(outcome.evidence.at("environment_conflicts")[0].at("shell"), "WARN");
  EXPECT_THAT(outcome.evidence.at("notes")[0].get<std::string>(), HasSubstr("NCCL_DEBUG"));
}

TEST_F(Launch, ARankHasNoDescriptorsButItsOwn) {
  const int leak = ::open("/dev/null", O_RDONLY);  // no O_CLOEXEC: as a careless library opens it
  const auto outcome =
      launch(small_cell(1),
             {"/bin/sh", "-c", "ls /proc/self/fd | tr '\\n' ' '; ulimit -c; cut -d' ' -f5,6 /proc/$$/stat; echo $$"});
  ::close(leak);
  std::istringstream words(slurp(folder() / "launch4/rank0.out"));
  std::vector<std::string> seen;
  for (std::string word; words >> word;) seen.push_back(word);
  // ls: 0 1 2, progress 3, its own folder 4; then: no core files; process group and session are its own.
  ASSERT_EQ(seen.size(), 9u) << ::testing::PrintToString(seen);
  EXPECT_THAT(std::vector<std::string>(seen.begin(), seen.begin() + 5),
              ::testing::ElementsAre("0", "1", "2", "3", "4"));
  EXPECT_EQ(seen[5], "0");
  EXPECT_EQ(seen[6], seen[8]);
  EXPECT_EQ(seen[7], seen[8]);
  EXPECT_EQ(outcome.status, Status::crashed);
  EXPECT_THAT(outcome.reason, HasSubstr("left no record"));
}

TEST_F(Launch, AMissingWorkerIsNamed) {
  for (const auto& command : {folder().string() + "/no-such-worker", std::string("no-such-worker-in-path")}) {
    const auto outcome = launch(small_cell(2), {command, "--flag"});
    EXPECT_EQ(outcome.status, Status::crashed);
    EXPECT_EQ(outcome.reason, "cannot start " + command + ": No such file or directory");
    EXPECT_FALSE(outcome.ranks[0].exit_code);
  }
}

TEST_F(Launch, AFileThatIsNoProgramIsNamed) {
  const auto file = folder() / "worker.txt";
  std::ofstream(file) << "hello\n";
  EXPECT_EQ(launch(small_cell(1), {file.string()}).reason, "cannot start " + file.string() + ": Permission denied");
  ::chmod(file.c_str(), 0755);
  EXPECT_EQ(launch(small_cell(1), {file.string()}).reason, "cannot start " + file.string() + ": Exec format error");
}

TEST_F(Launch, BadRequestsAreErrorsOfTheCaller) {
  EXPECT_THROW(launch(small_cell(1), {}), std::invalid_argument);
  auto none = small_cell(1);
  none.ddp.ranks = 0;
  EXPECT_THROW(launch_stub(none, {}), std::invalid_argument);
  std::ofstream(folder() / "launch4") << "a file where the folder should be";
  EXPECT_THROW(launch_stub(small_cell(1), {}), std::system_error);
}

TEST_F(Launch, AnExceptionOfTheCallerLeavesNothingRunning) {
  const auto angry = [](const Progress&) { throw std::runtime_error("display is gone"); };
  EXPECT_THROW(launch_stub(small_cell(2), {"--mode", "ignore-term"}, -1, angry), std::runtime_error);
  expect_nothing_left();
}

struct Death {
  std::string mode;
  std::string reason;
  std::optional<int> exit_code, signal;
};

TEST_F(Launch, EachDeathIsCrashedWithItsCause) {
  const std::vector<Death> deaths{
      {"die", "died by SIGKILL (Killed), last seen in phase measure, step 17", std::nullopt, SIGKILL},
      {"segv", "died by SIGSEGV (Segmentation fault), last seen in phase", std::nullopt, SIGSEGV},
      {"abort", "died by SIGABRT (Aborted)", std::nullopt, SIGABRT},
      {"exit3", "exited with 3, last seen in phase measure, step 17; last line: about to leave with 3", 3,
       std::nullopt},
      {"no-record", "exited with 0 but left no record", 0, std::nullopt},
      {"record-then-die", "died by SIGKILL (Killed) after its record said ok", std::nullopt, SIGKILL},
      {"ok-exit3", "exited with 3 although its record says ok", 3, std::nullopt},
  };
  for (const auto& death : deaths) {
    const auto outcome = launch_stub(small_cell(1), {"--mode", death.mode, "--at-step", "17"});
    EXPECT_EQ(outcome.status, Status::crashed) << death.mode;
    EXPECT_THAT(outcome.reason, HasSubstr(death.reason));
    EXPECT_THAT(outcome.reason, ::testing::StartsWith("the worker "));
    EXPECT_EQ(outcome.ranks[0].exit_code, death.exit_code) << death.mode;
    EXPECT_EQ(outcome.ranks[0].signal, death.signal) << death.mode;
    EXPECT_FALSE(outcome.ranks[0].killed_by_harness) << death.mode;
  }
}

TEST_F(Launch, AStatusOfTheRecordIsTheStatusOfTheLaunch) {
  for (const auto& mode : {"oom", "incorrect", "ineffective", "unsteady", "disturbed", "unsupported"}) {
    const auto outcome = launch_stub(small_cell(1), {"--mode", mode});
    EXPECT_EQ(to_string(outcome.status), mode);
    EXPECT_THAT(outcome.reason, Not(IsEmpty()));
    ASSERT_TRUE(outcome.ranks[0].record);
  }
  const auto outcome = launch_stub(small_cell(1), {"--mode", "oom-then-abort"});
  EXPECT_EQ(outcome.status, Status::oom);
  EXPECT_THAT(outcome.reason, HasSubstr("out of memory at step 2"));
  EXPECT_THAT(outcome.reason, HasSubstr("then the worker died by SIGABRT"));
  EXPECT_EQ(outcome.ranks[0].record->detail.at("evidence").at("requested_mib"), 40960);
}

TEST_F(Launch, TheSiblingsOfADeadRankAreEndedAfterTheGrace) {
  const auto outcome = launch_stub(small_cell(3), {"--mode", "die", "--rank", "1", "--others", "hang"});
  EXPECT_EQ(outcome.status, Status::crashed);
  EXPECT_THAT(outcome.reason, HasSubstr("rank 1 died by SIGKILL"));
  EXPECT_FALSE(outcome.ranks[1].killed_by_harness);
  EXPECT_TRUE(outcome.ranks[0].killed_by_harness);
  EXPECT_EQ(outcome.ranks[2].signal, SIGTERM);
  EXPECT_GE(outcome.duration_s, 1.0);
  EXPECT_LT(outcome.duration_s, 10.0);
}

TEST_F(Launch, ASiblingThatEndsByItselfWithinTheGraceIsLeftAlone) {
  const auto outcome =
      launch_stub(small_cell(2), {"--mode", "oom", "--rank", "0", "--others", "sleep", "--sleep-s", "0.3"});
  EXPECT_EQ(outcome.status, Status::oom);
  EXPECT_THAT(outcome.reason, HasSubstr("rank 0: out of memory"));
  EXPECT_FALSE(outcome.ranks[1].killed_by_harness);
  EXPECT_TRUE(outcome.ranks[1].record);
}

TEST_F(Launch, TheNextLaunchIsNotTheWorseForABadOne) {
  EXPECT_EQ(launch_stub(small_cell(2), {"--mode", "segv"}).status, Status::crashed);
  EXPECT_EQ(launch_stub(small_cell(2), {"--rendezvous"}).status, Status::ok);
}

TEST_F(Launch, AStaleRecordIsNotTakenForTheRanks) {
  ASSERT_EQ(launch_stub(small_cell(1), {}).status, Status::ok);
  const auto outcome = launch_stub(small_cell(1), {"--mode", "no-record"});
  EXPECT_EQ(outcome.status, Status::crashed);
  EXPECT_THAT(outcome.reason, HasSubstr("left no record"));
}

}  // namespace
}  // namespace stepgauge::launch::test
