// A run folder: killed at any point, at most the running launch is lost; two runs never share one.
#include "store/run_folder.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "store/output_folder.hpp"
#include "support.hpp"

namespace stepgauge::store {
namespace {

using namespace stepgauge::testing;
using RunFolderTest = Scratch;

LaunchRecord numbered(const Cell& cell, int launch, int attempt, double value) {
  auto record = make_launch(cell, launch);
  record.attempt = attempt;
  record.metrics["throughput"] = {value, "samples/s", ""};
  return record;
}

TEST_F(RunFolderTest, WhatWasWrittenIsReadBack) {
  const auto a = make_cell(), b = make_cell({.ranks = 2});
  {
    auto run = RunFolder::create(folder_ / "r", run_info({a, b}));
    run.append(numbered(a, 0, 1, 1.5));
    run.append(numbered(b, 0, 1, 2.5));
    run.append(numbered(a, 1, 1, 3.5));
  }
  const auto run = RunFolder::open(folder_ / "r");
  EXPECT_EQ(to_json(run.info()), to_json(run_info({a, b})));
  const auto results = run.results();
  ASSERT_EQ(results.cells.size(), 2u);
  EXPECT_EQ(results.cells[0].launches.size(), 2u);
  EXPECT_EQ(results.cells[0].launches[1].metrics.at("throughput").value, 3.5);
  EXPECT_EQ(results.cells[1].cell.id, b.id);
  EXPECT_EQ(results.fingerprint, cpu_machine());
  EXPECT_EQ(results.skipped.at(0).reason, "needs 8 GPUs");
}

TEST_F(RunFolderTest, SecondRunIsRefusedAndResumeIsNamed) {
  { RunFolder::create(folder_ / "r", run_info({make_cell()})); }
  const auto error = error_of([&] { RunFolder::create(folder_ / "r", run_info({make_cell()})); });
  EXPECT_NE(error.find("holds a run already; --resume continues it"), std::string::npos) << error;
  EXPECT_THROW(RunFolder::create(folder_ / "r", run_info({})), RunConflict);
}

TEST_F(RunFolderTest, AFolderThatCannotBeMadeIsRefusedByName) {
  write_text_file((folder_ / "file").string(), "in the way");
  for (const auto& path : {folder_ / "file", folder_ / "file/r", std::filesystem::path("/proc/1/r")}) {
    const auto error = error_of([&] { RunFolder::create(path, run_info({make_cell()})); });
    EXPECT_NE(error.find(path.string() + ": cannot"), std::string::npos) << error;
    EXPECT_THROW(RunFolder::create(path, run_info({make_cell()})), FolderRefused);
  }
}

TEST_F(RunFolderTest, TwoWritersAtOnce) {
  const auto cell = make_cell();
  auto run = RunFolder::create(folder_ / "r", run_info({cell}));
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto error = error_of([&] { RunFolder::resume(folder_ / "r"); });
    const bool written = ::write(pipe_ends[1], error.data(), error.size()) == static_cast<ssize_t>(error.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(pipe_ends[1]);
  std::string error(4096, '\0');
  const auto count = ::read(pipe_ends[0], error.data(), error.size());
  ::close(pipe_ends[0]);
  error.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  ::waitpid(child, nullptr, 0);
  EXPECT_NE(error.find("another run works in this folder (process " + std::to_string(::getpid()) + ")"),
            std::string::npos)
      << error;
  EXPECT_NO_THROW(RunFolder::open(folder_ / "r"));  // reading needs no lock
  run.append(numbered(cell, 0, 1, 1));
}

TEST_F(RunFolderTest, TornLastLineIsCutOffAndKeptAside) {
  const auto cell = make_cell();
  {
    auto run = RunFolder::create(folder_ / "r", run_info({cell}));
    run.append(numbered(cell, 0, 1, 1));
  }
  const auto journal = folder_ / "r" / "records.jsonl";
  const auto whole = read(journal);
  const auto torn = whole.substr(0, whole.size() - 1);  // only the line end is lost
  write(journal, whole + torn);
  EXPECT_EQ(RunFolder::open(folder_ / "r").torn_line(), torn);
  EXPECT_EQ(read(journal), whole + torn);  // reading changes nothing
  {
    auto run = RunFolder::resume(folder_ / "r");
    EXPECT_EQ(run.torn_line(), torn);
    EXPECT_EQ(run.records().size(), 1u);
    run.append(numbered(cell, 1, 1, 2));
  }
  EXPECT_EQ(read(folder_ / "r" / "records.jsonl.torn"), torn + "\n");
  const auto again = RunFolder::resume(folder_ / "r");
  EXPECT_EQ(again.records().size(), 2u);
  EXPECT_FALSE(again.torn_line().has_value());
}

// Cut at every byte, as a crash may: each whole line before the cut is there afterwards.
TEST_F(RunFolderTest, CrashAtAnyByteLosesOnlyTheLastRecord) {
  const auto cell = make_cell();
  {
    auto run = RunFolder::create(folder_ / "r", run_info({cell}));
    for (int i = 0; i < 3; ++i) run.append(numbered(cell, i, 1, i));
  }
  const auto journal = folder_ / "r" / "records.jsonl";
  const auto whole = read(journal);
  for (std::size_t cut = 0; cut <= whole.size(); cut += 7) {
    write(journal, whole.substr(0, cut));
    const auto run = RunFolder::resume(folder_ / "r");
    EXPECT_EQ(run.records().size(), static_cast<std::size_t>(std::count(
                                        whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut), '\n')));
  }
}

TEST_F(RunFolderTest, TornLineInTheMiddleIsAnErrorWithItsNumber) {
  const auto cell = make_cell();
  {
    auto run = RunFolder::create(folder_ / "r", run_info({cell}));
    run.append(numbered(cell, 0, 1, 1));
  }
  const auto journal = folder_ / "r" / "records.jsonl";
  const auto whole = read(journal);
  write(journal, whole + whole.substr(0, 30) + "\n" + whole);
  const auto error = error_of([&] { RunFolder::resume(folder_ / "r"); });
  EXPECT_NE(error.find("records.jsonl:2: "), std::string::npos) << error;
}

TEST_F(RunFolderTest, RecordOfAnotherCellIsAnError) {
  const auto a = make_cell(), b = make_cell({.ranks = 2});
  auto run = RunFolder::create(folder_ / "r", run_info({a}));
  EXPECT_THROW(run.append(numbered(b, 0, 1, 1)), std::invalid_argument);
  write(folder_ / "r" / "records.jsonl", dump_line(to_json(numbered(b, 0, 1, 1))) + "\n");
  EXPECT_NE(error_of([&] { RunFolder::open(folder_ / "r"); }).find(b.id), std::string::npos);
}

TEST_F(RunFolderTest, CompletedAttemptsAndFolders) {
  const auto cell = make_cell();
  auto run = RunFolder::create(folder_ / "r", run_info({make_cell({.ranks = 2}), cell}));
  EXPECT_FALSE(run.completed(cell.id, 0));
  EXPECT_EQ(run.next_attempt(cell, 0), 1);
  const auto first = run.launch_folder(cell, 0, 1);
  EXPECT_TRUE(std::filesystem::is_directory(first));
  EXPECT_EQ(first.filename().string().substr(0, 5), "0002-");
  EXPECT_NE(first.filename().string().find(cell.hash + "-l0a1"), std::string::npos);
  EXPECT_EQ(first.filename().string().find('/'), std::string::npos);
  EXPECT_EQ(run.next_attempt(cell, 0), 2);  // interrupted: a folder, no record
  EXPECT_FALSE(run.completed(cell.id, 0));
  run.append(numbered(cell, 0, 2, 7));
  EXPECT_TRUE(run.completed(cell.id, 0));
  EXPECT_EQ(run.next_attempt(cell, 0), 3);
  run.append(numbered(cell, 0, 3, 8));
  const auto results = run.results();
  ASSERT_EQ(results.cells.at(1).launches.size(), 1u);
  EXPECT_EQ(results.cells[1].launches[0].metrics.at("throughput").value, 8);  // the last attempt
}

TEST_F(RunFolderTest, AWarmUpIsNoLaunch) {
  const auto cell = make_cell();
  auto warm_up = numbered(cell, 0, 1, 3);
  warm_up.warm_up = true;
  {
    auto run = RunFolder::create(folder_ / "r", run_info({cell}));
    EXPECT_FALSE(run.begun(cell.id));
    run.append(warm_up);
    EXPECT_TRUE(run.begun(cell.id));
    EXPECT_FALSE(run.completed(cell.id, 0));
    EXPECT_EQ(run.next_attempt(cell, 0), 2);
    EXPECT_TRUE(run.results().cells.at(0).launches.empty());
  }
  auto again = RunFolder::resume(folder_ / "r");
  EXPECT_TRUE(again.begun(cell.id));
  EXPECT_FALSE(again.completed(cell.id, 0));
  again.append(numbered(cell, 0, 2, 7));
  EXPECT_TRUE(again.completed(cell.id, 0));
  ASSERT_EQ(again.results().cells.at(0).launches.size(), 1u);
  EXPECT_EQ(again.results().cells[0].launches[0].metrics.at("throughput").value, 7);
}

TEST_F(RunFolderTest, LongAndOddIdsAreFileNames) {
  auto cell = make_cell();
  cell.id = "../" + std::string(400, 'x') + "/\xc3\xa4 b\n-" + cell.hash;
  const auto run = RunFolder::create(folder_ / "r", run_info({cell}));
  const auto folder = run.launch_folder(cell, 3, 1);
  EXPECT_EQ(folder.parent_path(), folder_ / "r" / "launches");
  EXPECT_LT(folder.filename().string().size(), 110u);
}

TEST_F(RunFolderTest, BadFoldersHaveClearErrors) {
  EXPECT_NE(error_of([&] { RunFolder::open(folder_ / "nowhere"); }).find("holds no run"), std::string::npos);
  EXPECT_NE(error_of([&] { RunFolder::create("/proc/stepgauge-run", run_info({})); }).find("/proc/stepgauge-run"),
            std::string::npos);
  write(folder_ / "file", "x");
  EXPECT_THROW(RunFolder::create(folder_ / "file", run_info({})), FolderRefused);
  std::filesystem::create_directory(folder_ / "newer");
  auto json = to_json(run_info({}));
  json["version"] = 2;
  write(folder_ / "newer" / "run.json", dump_pretty(json));
  EXPECT_NE(error_of([&] { RunFolder::open(folder_ / "newer"); }).find("run version 2"), std::string::npos);
  if (::geteuid() != 0) {
    std::filesystem::create_directory(folder_ / "sealed");
    std::filesystem::permissions(folder_ / "sealed",
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    EXPECT_THROW(RunFolder::create(folder_ / "sealed", run_info({})), std::system_error);
  }
}

TEST_F(RunFolderTest, OpenForReadingDoesNotAppend) {
  const auto cell = make_cell();
  { RunFolder::create(folder_ / "r", run_info({cell})); }
  auto run = RunFolder::open(folder_ / "r");
  EXPECT_THROW(run.append(numbered(cell, 0, 1, 1)), std::logic_error);
}

}  // namespace
}  // namespace stepgauge::store
