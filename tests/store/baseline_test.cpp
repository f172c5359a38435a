// Baselines: a reference that is wrong, half-written or silently replaced makes every later verdict wrong.
#include "store/baseline.hpp"

#include <locale.h>

#include <cmath>
#include <system_error>

#include "store/fingerprint.hpp"
#include "support.hpp"

namespace stepgauge::store {
namespace {

using namespace stepgauge::testing;
using BaselineTest = Scratch;

ResultSet good() {
  auto set = result_set("runs/a", {measured(make_cell(), {{"throughput", {1.0 / 3, 100.25, 4.97}}})});
  set.cells[0].launches[0].detail["ranks"] = Json::array({{{"software", {{"torch", "2.11.0"}}}}});
  set.skipped = {{"big-00000001", "00000001", Status::skipped, "--skip"}};
  return set;
}

TEST_F(BaselineTest, RoundTripIsExact) {
  const auto path = save(good(), folder_, {{"stepgauge", "run"}, "2026-11-30T00:00:00Z", ""});
  EXPECT_EQ(path, folder_ / fingerprint_slug(cpu_machine()) / "unit.jsonl");
  const auto back = load(path);
  EXPECT_EQ(back.source, "runs/a");
  EXPECT_EQ(back.command, (std::vector<std::string>{"stepgauge", "run"}));
  EXPECT_EQ(back.results.name, "baseline unit (2026-11-29)");
  EXPECT_EQ(back.results.fingerprint, good().fingerprint);
  EXPECT_EQ(back.results.skipped.at(0).reason, "--skip");
  ASSERT_EQ(back.results.cells.size(), 1u);
  for (std::size_t i = 0; i < 3; ++i) {
    auto expected = to_json(good().cells[0].launches[i]);
    expected["session"] = back.results.sessions.at(0).id;
    EXPECT_EQ(to_json(back.results.cells[0].launches[i]), expected);
  }
}

TEST_F(BaselineTest, TextAndLocaleDoNotBreakIt) {
  auto set = good();
  set.name = "runs/\"quoted\"\nline \xc3\xa4";
  set.cells[0].launches[0].reason = "broken byte \xff";
  const auto plain = read(save(set, folder_ / "c", {}));
  const char* german = ::setlocale(LC_ALL, "de_DE.UTF-8");
  const auto local = read(save(set, folder_ / "de", {}));
  ::setlocale(LC_ALL, "C");
  EXPECT_EQ(plain, local) << (german == nullptr ? "locale not installed" : german);
  EXPECT_NO_THROW(load(folder_ / "c" / fingerprint_slug(cpu_machine()) / "unit.jsonl"));
}

TEST_F(BaselineTest, SavingOverOneNeedsAReason) {
  const auto path = save(good(), folder_, {});
  const auto before = read(path);
  try {
    save(good(), folder_, {});
    FAIL();
  } catch (const BaselineExists& error) {
    EXPECT_EQ(error.path(), path);
    EXPECT_NE(std::string(error.what()).find("--accept"), std::string::npos);
  }
  EXPECT_EQ(read(path), before);
  save(good(), folder_, {{}, "", "new driver"});
  EXPECT_EQ(load(path).reason, "new driver");
}

TEST_F(BaselineTest, WhatMustNotBecomeAReference) {
  auto failed = good();
  for (auto& launch : failed.cells[0].launches) launch.status = Status::crashed;
  EXPECT_THROW(save(failed, folder_, {}), BaselineRefused);
  auto empty = good();
  empty.cells.clear();
  EXPECT_THROW(save(empty, folder_, {}), BaselineRefused);
  const auto slow = result_set("x", {measured(slowed(make_cell(), 50), {{"throughput", {1, 2, 3}}})});
  EXPECT_THROW(save(slow, folder_, {}), BaselineRefused);
  auto hidden = good();
  hidden.cells[0].launches[1].perturbed = true;
  EXPECT_THROW(save(hidden, folder_, {}), BaselineRefused);
  auto nowhere = good();
  nowhere.fingerprint = Json::object();
  EXPECT_THROW(save(nowhere, folder_, {}), BaselineRefused);
  auto escaping = good();
  escaping.suite = "../../evil";
  EXPECT_THROW(save(escaping, folder_, {}), std::invalid_argument);
  EXPECT_TRUE(list(folder_).empty());
}

TEST_F(BaselineTest, LaunchesThatAreNotOkGiveNoValues) {
  auto set = good();
  set.cells[0].launches[2].status = Status::incorrect;
  const auto back = load(save(set, folder_, {}));
  const auto& launch = back.results.cells[0].launches.at(2);
  EXPECT_EQ(launch.status, Status::incorrect);
  EXPECT_FALSE(launch.metrics.at("throughput").value.has_value());
}

TEST_F(BaselineTest, NaNIsRefusedAndTheOldFileStays) {
  const auto path = save(good(), folder_, {});
  const auto before = read(path);
  auto broken = good();
  broken.cells[0].launches[0].metrics["throughput"].value = std::nan("");
  EXPECT_THROW(save(broken, folder_, {{}, "", "because"}), ContractError);
  EXPECT_EQ(read(path), before);
}

TEST_F(BaselineTest, BadFilesAreNamedWithTheLine) {
  const auto path = save(good(), folder_, {});
  const auto text = read(path);
  const auto second = text.find('\n') + 1;
  const auto expect = [&](const std::string& changed, const std::string& where) {
    write(path, changed);
    const auto error = error_of([&] { load(path); });
    EXPECT_NE(error.find("unit.jsonl" + where), std::string::npos) << error;
  };
  expect(text.substr(0, text.size() - 5), ":4: the last line is cut off");
  expect("", ":1");
  expect("{}\n", ":1");
  expect(text.substr(second), ":1");
  auto newer = parse_json(text.substr(0, second - 1), "x");
  newer["version"] = 7;
  expect(dump_line(newer) + "\n" + text.substr(second), ":1: baseline version 7");
  expect(text.substr(0, second) + "{\"x\": NaN}\n", ":2");
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_NE(error_of([&] { load(path); }).find("folder"), std::string::npos);
}

TEST_F(BaselineTest, ListAndFind) {
  EXPECT_TRUE(list(folder_ / "none").empty());
  const auto path = save(good(), folder_, {});
  write(folder_ / "README.md", "x");
  const auto all = list(folder_);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].suite, "unit");
  EXPECT_EQ(find(folder_, all[0].slug, "unit"), path);
  EXPECT_FALSE(find(folder_, all[0].slug, "other").has_value());
  EXPECT_FALSE(find(folder_, "..", "unit").has_value());
}

TEST_F(BaselineTest, ReadOnlyRootIsAClearError) {
  const auto error = error_of([&] { save(good(), "/proc/stepgauge", {}); });
  EXPECT_NE(error.find("/proc/stepgauge"), std::string::npos) << error;
}

}  // namespace
}  // namespace stepgauge::store
