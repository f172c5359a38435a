// Calibration files: a session that is lost, counted twice or of another machine makes a plan that nobody can keep.
#include "store/calibration_file.hpp"

#include "store/baseline.hpp"
#include "store/fingerprint.hpp"
#include "support.hpp"

namespace stepgauge::store {
namespace {

using namespace stepgauge::testing;
using CalibrationTest = Scratch;

CalibrationSession session(const std::string& id, const std::string& time = "2026-11-29T10:00:00Z") {
  const auto cell = make_cell();
  CalibrationSession out{
      id, "unit", time, "2026-11-30T00:00:00Z", "abc", "runs/a", {"stepgauge", "calibrate"}, cpu_machine(), {}};
  CalibrationCell one{cell.id, cell.hash, {{"ok", 2}, {"crashed", 1}}, {{"throughput", "samples/s"}}, {}};
  one.launches.push_back({0, time, 12.5, {{"throughput", 1.0 / 3}}, CalibrationSteps{0.0004, 50, 1.5}});
  one.launches.push_back({2, time, 13, {{"throughput", 101.25}}, {}});
  out.cells.push_back(one);
  return out;
}

TEST_F(CalibrationTest, RoundTripIsExact) {
  const auto path = calibration_path(cpu_machine(), "unit", folder_);
  EXPECT_EQ(path, folder_ / fingerprint_slug(cpu_machine()) / "unit.calibration.jsonl");
  EXPECT_TRUE(append_calibration(path, session("a")));
  const auto back = find_calibrations(cpu_machine(), "unit", folder_);
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(to_json(back[0]), to_json(session("a")));
  EXPECT_TRUE(find_calibrations(gpu_machine("x"), "unit", folder_).empty());
  EXPECT_EQ(calibrated_machines("unit", folder_), std::vector{fingerprint_slug(cpu_machine())});
  EXPECT_THROW(calibration_path(cpu_machine(), "../evil", folder_), std::invalid_argument);
}

TEST_F(CalibrationTest, ASessionThatWentOnStandsOnce) {
  const auto path = calibration_path(cpu_machine(), "unit", folder_);
  append_calibration(path, session("late", "2026-11-30T10:00:00Z"));
  append_calibration(path, session("early"));
  auto longer = session("early");
  longer.added_at = "2026-12-01T00:00:00Z";
  EXPECT_FALSE(append_calibration(path, longer)) << "nothing new";
  longer.cells[0].launches.push_back({3, "2026-11-29T11:00:00Z", 12, {{"throughput", 99}}, {}});
  EXPECT_TRUE(append_calibration(path, longer));
  const auto text = read(path);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << "lines are appended, never changed";
  const auto back = read_calibrations(path);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].session, "early");
  EXPECT_EQ(back[0].cells[0].launches.size(), 3u);
}

TEST_F(CalibrationTest, BadLinesAreNamed) {
  const auto path = calibration_path(cpu_machine(), "unit", folder_);
  append_calibration(path, session("a"));
  const auto line = read(path);
  const auto expect = [&](auto change, const std::string& what) {
    auto value = parse_json(line, "line");
    change(value);
    write(path, line + value.dump() + "\n");
    const auto error = error_of([&] { read_calibrations(path); });
    EXPECT_NE(error.find("unit.calibration.jsonl:2"), std::string::npos) << error;
    EXPECT_NE(error.find(what), std::string::npos) << error;
  };
  expect([](Json& j) { j["version"] = 2; }, "newer stepgauge");
  expect([](Json& j) { j["schema"] = "stepgauge.run"; }, "not a line of a calibration");
  expect([](Json& j) { j["suite"] = "other"; }, "other.calibration.jsonl");
  expect([](Json& j) { j["fingerprint"]["cpu"]["cores"] = 64; }, "it belongs to");
  expect([](Json& j) { j["cells"].push_back(j["cells"][0]); }, "stands twice");
  expect([](Json& j) { j["cells"][0]["launches"][1]["launch"] = 0; }, "out of order or stands twice");
  expect([](Json& j) { j["cells"][0]["units"] = Json::object(); }, "no unit");
  expect([](Json& j) { j["cells"][0]["launches"][0]["steps"]["inflation"] = 0; }, "inflation above 0");
  expect([](Json& j) { j["cells"][0]["launches"][0]["steps"]["count"] = -50; }, "a count of 3 or more");
  expect([](Json& j) { j["cells"][0]["statuses"]["ok"] = -1; }, "statuses");
  expect([](Json& j) { j["cells"][0]["statuses"]["fine"] = 1; }, "statuses");
  expect([](Json& j) { j.erase("measured_at"); }, "measured_at");
  write(path, line + "{\"values\": NaN}\n");
  EXPECT_NE(error_of([&] { read_calibrations(path); }).find(":2"), std::string::npos);
}

TEST_F(CalibrationTest, ATornLastLineIsLeftOutAndKept) {
  const auto path = calibration_path(cpu_machine(), "unit", folder_);
  append_calibration(path, session("a"));
  write(path, "{\"schema\": \"step", true);
  EXPECT_EQ(read_calibrations(path).size(), 1u);
  append_calibration(path, session("b"));
  EXPECT_EQ(read_calibrations(path).size(), 2u);
  EXPECT_EQ(read(path.string() + ".torn"), "{\"schema\": \"step\n");
}

TEST_F(CalibrationTest, NoBaselineIsTakenForOne) {
  append_calibration(calibration_path(cpu_machine(), "unit", folder_), session("a"));
  EXPECT_TRUE(list(folder_).empty());
  auto set = result_set("runs/a", {measured(make_cell(), {{"throughput", {1, 2}}})});
  set.suite = "unit.calibration";
  EXPECT_THROW(save(set, folder_, {}), std::invalid_argument);
}

}  // namespace
}  // namespace stepgauge::store
