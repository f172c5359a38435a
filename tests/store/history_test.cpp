// The history: a night that is lost, counted twice or moved in time makes an alarm, or hides one.
#include "store/history.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <thread>

#include "store/fingerprint.hpp"
#include "support.hpp"

namespace stepgauge::store {
namespace {

using namespace stepgauge::testing;

class HistoryTest : public Scratch {
 protected:
  /// A run folder of one cell, made at that time.
  std::filesystem::path make_run(const std::string& name, const std::string& created_at, const Samples& samples) {
    auto cell = make_cell();
    cell.tolerance["throughput"] = {0.05, std::nullopt};
    auto info = run_info({cell});
    info.created_at = created_at;
    auto run = RunFolder::create(folder_ / name, info);
    auto results = measured(cell, samples);
    add_failure(results, Status::crashed);
    results.launches.back().metrics["throughput"] = {1, "samples/s", ""};  // of a launch that is not ok: no value
    for (const auto& launch : results.launches) run.append(launch);
    return folder_ / name;
  }

  std::filesystem::path night(const std::string& name, const std::string& created_at) {
    return make_run(name, created_at, {{"throughput", {100, 101}}, {"init_latency", {2, 3}}});
  }

  AddedNight add(const std::filesystem::path& run, bool late = false) {
    NightOptions options;
    options.commit = "abc";
    options.added_at = "2026-12-01T00:00:00Z";
    options.late = late;
    return add_night(root_, run, options);
  }

  std::filesystem::path root_ = folder_ / "history";
  std::filesystem::path file_ = root_ / fingerprint_slug(cpu_machine()) / "unit.jsonl";
};

TEST_F(HistoryTest, LaunchValuesSurviveExactly) {
  const auto run =
      make_run("a", "2026-11-29T02:00:00Z", {{"throughput", {1.0 / 3, 100.25}}, {"init_latency", {5e-324}}});
  const auto added = add(run);
  EXPECT_EQ(added.path, file_);
  EXPECT_EQ(added.series, 2u);
  const auto history = read_history(file_);
  ASSERT_EQ(history.nights.size(), 1u);
  const auto& tip = history.nights[0].tip;
  EXPECT_EQ(tip.run, added.run);
  EXPECT_EQ(tip.run.substr(0, 17), "20261129T020000Z-");
  EXPECT_EQ(tip.commit, "abc");
  EXPECT_EQ(tip.cells[0].metrics.at("throughput").values, (std::vector<double>{1.0 / 3, 100.25}));
  EXPECT_EQ(tip.cells[0].metrics.at("throughput").unit, "samples/s");
  EXPECT_EQ(tip.cells[0].metrics.at("init_latency").values, std::vector<double>{5e-324});
  EXPECT_EQ(tip.cells[0].statuses, (std::map<std::string, std::size_t>{{"ok", 2}, {"crashed", 1}}));
  EXPECT_EQ(tip.cells[0].tolerance.at("throughput").relative, 0.05);
  EXPECT_FALSE(tip.cells[0].tolerance.at("throughput").floor.has_value());
  EXPECT_TRUE(history.notes.empty());
}

TEST_F(HistoryTest, OneRunIsOneNight) {
  const auto run = night("a", "2026-11-29T02:00:00Z");
  add(run);
  std::filesystem::rename(run, folder_ / "moved");
  const auto before = read(file_);
  const auto error = error_of([&] { add(folder_ / "moved"); });
  EXPECT_NE(error.find("unit.jsonl:1: run 20261129T020000Z-"), std::string::npos) << error;
  EXPECT_NE(error.find("added already"), std::string::npos) << error;
  EXPECT_EQ(read(file_), before);
}

TEST_F(HistoryTest, AClockThatWentBackwardsIsAskedAbout) {
  add(night("b", "2026-11-30T02:00:00Z"));
  const auto older = night("a", "2026-11-29T02:00:00Z");
  EXPECT_THROW(add(older), HistoryConflict);
  const auto error = error_of([&] { add(older); });
  EXPECT_NE(error.find("unit.jsonl:1: the last night is of 2026-11-30T02:00:00Z"), std::string::npos) << error;
  EXPECT_NE(error.find("--late"), std::string::npos) << error;
  add(older, true);
  const auto history = read_history(file_);
  ASSERT_EQ(history.nights.size(), 2u);
  EXPECT_EQ(history.nights[0].tip.created_at, "2026-11-29T02:00:00Z");
  ASSERT_EQ(history.notes.size(), 1u);
  EXPECT_NE(history.notes[0].find("unit.jsonl:2: the clock went backwards"), std::string::npos) << history.notes[0];
}

TEST_F(HistoryTest, ATornLastLineIsToldAndKeptAside) {
  add(night("a", "2026-11-29T02:00:00Z"));
  const auto whole = read(file_);
  write(file_, "{\"schema\":\"stepgauge.his", true);
  const auto torn = read_history(file_);
  EXPECT_EQ(torn.nights.size(), 1u);
  ASSERT_EQ(torn.notes.size(), 1u);
  EXPECT_NE(torn.notes[0].find("unit.jsonl:2: the last line is cut off (24 bytes)"), std::string::npos)
      << torn.notes[0];
  add(night("b", "2026-11-30T02:00:00Z"));
  const auto mended = read_history(file_);
  EXPECT_EQ(mended.nights.size(), 2u);
  EXPECT_TRUE(mended.notes.empty());
  EXPECT_EQ(read(file_).substr(0, whole.size()), whole);
  EXPECT_EQ(read(file_.string() + ".torn"), "{\"schema\":\"stepgauge.his\n");
}

TEST_F(HistoryTest, ALineWithoutItsEndIsStillANight) {
  add(night("a", "2026-11-29T02:00:00Z"));
  const auto text = read(file_);
  write(file_, text.substr(0, text.size() - 1));
  EXPECT_EQ(read_history(file_).nights.size(), 1u);
  add(night("b", "2026-11-30T02:00:00Z"));
  EXPECT_EQ(read_history(file_).nights.size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(file_.string() + ".torn"));
}

TEST_F(HistoryTest, EveryOtherBadLineIsNamedAndNothingIsLost) {
  add(night("a", "2026-11-29T02:00:00Z"));
  const auto good = read(file_);
  const auto next = night("b", "2026-11-30T02:00:00Z");
  const auto expect = [&](const std::string& line, const std::string& words) {
    const auto text = good + line + "\n";
    write(file_, text);
    const auto error = error_of([&] { read_history(file_); });
    EXPECT_NE(error.find("unit.jsonl:2: "), std::string::npos) << error;
    EXPECT_EQ(error.find("unit.jsonl:2"), error.rfind("unit.jsonl:2")) << error;
    EXPECT_NE(error.find(words), std::string::npos) << error;
    EXPECT_THROW(add(next), std::runtime_error);
    EXPECT_EQ(read(file_), text);
  };
  const auto changed = [&](const char* key, const Json& value) {
    auto json = parse_json(good, "good");
    json[Json::json_pointer(key)] = value;
    return dump_line(json);
  };
  expect(good.substr(0, good.size() / 2), "git log -p -- ");
  expect("", "take it out");
  expect("<<<<<<< HEAD", "merge=union");
  expect("{}", "\"schema\" is missing");
  expect(changed("/schema", "stepgauge.run"), "not a line of a history");
  expect(changed("/version", 2), "history version 2, this program reads up to 1");
  expect(changed("/kind", "day"), "kind \"day\"");
  expect(changed("/tip/cells/0/metrics/throughput/values", {1, "x"}), "wrong type");
  expect(changed("/tip/cells/0/metrics/throughput/values", Json::array()), "no value");
  expect(changed("/tip/created_at", "yesterday"), "expected a time");
  expect(changed("/tip/created_at", "2026-11-28T02:00:00Z"), "in line 1 already with other contents");
  expect(changed("/suite", "other"), "it belongs to");
  expect(changed("/fingerprint", gpu_machine("B")), "it belongs to");
  expect(R"({"schema":"stepgauge.history","version":1,"kind":"pin","night":"x","name":"v1","at":""})", "night \"x\"");
  expect(
      R"({"schema":"stepgauge.history","version":1,"kind":"acknowledgement","series":"*","night":"x","reason":" ","by":"me","at":""})",
      "\"reason\" is empty");
}

TEST_F(HistoryTest, TheSameLineTwiceCountsOnce) {  // two branches that had both added it
  add(night("a", "2026-11-29T02:00:00Z"));
  write(file_, read(file_) + read(file_));
  const auto history = read_history(file_);
  EXPECT_EQ(history.nights.size(), 1u);
  ASSERT_EQ(history.notes.size(), 1u);
  EXPECT_NE(history.notes[0].find("counts once"), std::string::npos);
}

TEST_F(HistoryTest, WhatMustNotBecomeANight) {
  const auto expect = [&](const std::filesystem::path& run, const std::string& words) {
    EXPECT_THROW(add(run), HistoryRefused);
    const auto error = error_of([&] { add(run); });
    EXPECT_NE(error.find(words), std::string::npos) << error;
    EXPECT_FALSE(std::filesystem::exists(file_));
  };
  const auto with = [&](const std::string& name, auto change) {
    auto cell = make_cell();
    auto info = run_info({cell});
    change(info, cell);
    auto run = RunFolder::create(folder_ / name, info);
    for (const auto& launch : measured(cell, {{"throughput", {100}}}).launches) run.append(launch);
    return folder_ / name;
  };
  expect(make_run("nothing", "2026-11-29T02:00:00Z", {}), "no launch is ok");
  expect(with("unknown", [](RunInfo& info, Cell&) { info.fingerprint = Json::object(); }), "machine data");
  expect(with("part", [](RunInfo& info, Cell&) { info.shard = {{"index", 1}, {"count", 2}}; }), "merge");
  expect(with("planted",
              [](RunInfo& info, Cell& cell) {
                cell = slowed(cell, 50);
                info.cells = {cell};
              }),
         "perturbed on purpose");
}

TEST_F(HistoryTest, TheControlBuildStandsBesideTheTip) {
  NightOptions options;
  options.added_at = "2026-12-01T00:00:00Z";
  options.reference_commit = "frozen";
  options.reference = make_run("ref", "2026-11-29T01:00:00Z", {{"throughput", {90}}});
  const auto tip = night("tip", "2026-11-29T02:00:00Z");
  add_night(root_, tip, options);
  const auto history = read_history(file_);
  ASSERT_TRUE(history.nights.at(0).reference.has_value());
  EXPECT_EQ(history.nights[0].reference->commit, "frozen");
  EXPECT_EQ(history.nights[0].reference->cells[0].metrics.at("throughput").values, std::vector<double>{90});
  auto info = run_info({make_cell()});
  info.fingerprint = gpu_machine("B");
  RunFolder::create(folder_ / "elsewhere", info);
  options.reference = folder_ / "elsewhere";
  EXPECT_NE(error_of([&] { add_night(root_, tip, options); }).find("same suite and machine"), std::string::npos);
  options.reference = tip;
  EXPECT_NE(error_of([&] { add_night(root_, tip, options); }).find("the run itself"), std::string::npos);
}

TEST_F(HistoryTest, AcknowledgementsAndPinsNeedTheirNight) {
  const auto added = add(night("a", "2026-11-29T02:00:00Z"));
  append_history(file_, Acknowledgement{"*", added.run, "new driver", "me", "2026-11-30T00:00:00Z"});
  append_history(file_, Pin{added.run, "v1.0", "2026-11-30T00:00:00Z"});
  const auto history = read_history(file_);
  EXPECT_EQ(history.acknowledgements.at(0).reason, "new driver");
  EXPECT_EQ(history.pins.at(0).name, "v1.0");
  EXPECT_THROW(append_history(file_, Pin{"nowhere", "v2", ""}), HistoryConflict);
  EXPECT_THROW(append_history(file_, Pin{added.run, " ", ""}), ContractError);
  const auto all = read_histories(root_);
  EXPECT_EQ(history_with(all, added.run).path, file_);
  const auto error = error_of([&] { history_with(all, added.run.substr(0, 20) + "00000"); });
  EXPECT_NE(error.find("did you mean \"" + added.run), std::string::npos) << error;
}

TEST_F(HistoryTest, AConfirmationIsReadBackAndNeedsItsNights) {
  const auto first = add(night("a", "2026-11-28T02:00:00Z")), second = add(night("b", "2026-11-29T02:00:00Z"));
  Confirmation line;
  line.cell = "cell";
  line.metric = "throughput";
  line.last_good = {first.run, "c1"};
  line.first_bad = {second.run, "c2"};
  line.alarm_size = -0.03;
  line.verdict = ConfirmationVerdict::not_confirmed;
  line.pairs = 15;
  line.change = -0.001;
  line.folder = "runs/c/pairs/c1-c2";
  line.at = "2026-11-30T00:00:00Z";
  append_history(file_, line);
  const auto history = read_history(file_);
  ASSERT_EQ(history.confirmations.size(), 1u);
  const auto& back = history.confirmations[0];
  EXPECT_EQ(to_json(HistoryEntry(back)), to_json(HistoryEntry(line)));
  EXPECT_EQ(back.verdict, ConfirmationVerdict::not_confirmed);
  EXPECT_EQ(back.first_bad.commit, "c2");
  EXPECT_FALSE(back.ci_lower.has_value());
  EXPECT_EQ(history.nights.size(), 2u);
  auto lost = line;
  lost.last_good.night = "nowhere";
  EXPECT_THROW(append_history(file_, lost), HistoryConflict);
  lost = line;
  lost.first_bad.commit = "";
  EXPECT_THROW(append_history(file_, lost), ContractError);
  auto odd = to_json(HistoryEntry(line));
  odd["verdict"] = "perhaps";
  const auto error = error_of([&] { history_entry_from_json(odd, "h:3"); });
  EXPECT_NE(error.find("h:3: verdict \"perhaps\", expected \"confirmed\""), std::string::npos) << error;
}

TEST_F(HistoryTest, NoHistoryIsNotAnEmptyOne) {
  EXPECT_THROW(read_histories(root_), HistoryMissing);
  std::filesystem::create_directories(file_.parent_path());
  write(file_, "");
  EXPECT_THROW(read_histories(root_), HistoryMissing);
}

TEST_F(HistoryTest, ManyWritersLeaveWholeLines) {
  add(night("first", "2026-11-01T02:00:00Z"));
  std::vector<std::filesystem::path> runs;
  for (int i = 0; i < 8; ++i)
    runs.push_back(night("r" + std::to_string(i), "2026-11-29T02:00:0" + std::to_string(i) + "Z"));
  std::vector<std::thread> writers;
  for (const auto& run : runs) writers.emplace_back([&, run] { add(run, true); });
  for (auto& writer : writers) writer.join();
  const auto history = read_history(file_);
  EXPECT_EQ(history.nights.size(), 9u);
  EXPECT_EQ(history.lines.size(), 9u);
}

TEST_F(HistoryTest, AWriterThatDoesNotEndIsNotWaitedForForEver) {
  const auto added = add(night("a", "2026-11-29T02:00:00Z"));
  const int held = ::open(file_.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  const auto error = error_of([&] { append_history(file_, Pin{added.run, "v1", ""}, {.patience_s = 0.1}); });
  ::close(held);
  EXPECT_NE(error.find("another process"), std::string::npos) << error;
  append_history(file_, Pin{added.run, "v1", ""});
}

}  // namespace
}  // namespace stepgauge::store
