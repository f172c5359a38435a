// Every file that the rooms write follows its schema, said by a validator that is not ours (python3 with jsonschema).
#include <gtest/gtest.h>

#include <cstdlib>

#include "contract/health.hpp"
#include "contract/schemas.hpp"
#include "nights.hpp"
#include "store/baseline.hpp"
#include "store/calibration_file.hpp"
#include "store/history.hpp"
#include "support.hpp"
#include "verdict/calibration_json.hpp"
#include "verdict/compare.hpp"

namespace stepgauge::store {
namespace {

using namespace stepgauge::testing;

constexpr const char* validator = R"(
import json, sys
from jsonschema import Draft202012Validator
schema = json.load(open(sys.argv[1]))
Draft202012Validator.check_schema(schema)
check = Draft202012Validator(schema)
for name in sys.argv[2:]:
    for line in open(name, encoding="utf-8"):
        errors = [e.message for e in check.iter_errors(json.loads(line))]
        if errors:
            sys.exit(f"{name}: {errors[0][-200:]}")
)";

std::string python() {
  const char* source = std::getenv("STEPGAUGE_SOURCE_DIR");
  const auto own = std::filesystem::path(source == nullptr ? "." : source) / ".venv/bin/python";
  return std::filesystem::exists(own) ? own.string() : "python3";
}

class Schemas : public Scratch {
 protected:
  void SetUp() override {
    if (std::system((python() + " -c 'import jsonschema' 2>/dev/null").c_str()) != 0) {
      GTEST_SKIP() << "python3 with jsonschema is not here";
    }
    write(folder_ / "check.py", validator);
  }

  bool valid(const std::string& schema, const std::string& lines) {
    write(folder_ / "schema.json", std::string(schema_text(schema)));
    write(folder_ / "lines", lines);
    const auto folder = folder_.string() + "/";
    return std::system((python() + " " + folder + "check.py " + folder + "schema.json " + folder + "lines").c_str()) ==
           0;
  }
};

HealthSamples full_health() {
  HealthSamples health;
  health.period_s = 0.25;
  DeviceSample gpu{-0.1, 1980.0, 3201.0, 312.5, 41.0, 600.0, throttle::hardware_thermal, 0, {}};
  gpu.processes = {{100, 5000.0, ProcessOwner::launch}, {200, std::nullopt, ProcessOwner::unseen}};
  health.devices.push_back({0, "GPU-f0", 1980, {gpu, {}}, std::vector<XidEvent>{{1.5, 79}}});
  health.devices_absent = "NVML has no GPU 1";
  health.host = {{-0.1, CpuTicks{0, 100}, 1}, {0.25, std::nullopt, std::nullopt}};
  health.ranks = {{0, 4711, {{0.25, 1, 2, 3, 4}, {0.5, std::nullopt, std::nullopt, 3, 4}}}};
  return health;
}

LaunchRecord full_record(const Cell& cell) {
  auto record = measured(cell, {{"throughput", {101.5}}, {"peak_memory", {5000}}}).launches.at(0);
  record.metrics["mfu"] = {std::nullopt, "", "no peak known"};
  RankRecord rank;
  rank.cell_id = cell.id;
  rank.cell_hash = cell.hash;
  rank.phases_s = {{"spawn", 0.1}, {"build", 1.5}};
  rank.step_ms = {50, 10, 10.5};
  rank.measured_from = 1;
  rank.first_step_s = 0.05;
  rank.memory_steady.allocated_mib = 5000;
  rank.detail = {{"losses", {2.5, nullptr}},
                 {"usage", {{"involuntary_switches", 12}, {"user_s", 1.5}}},
                 {"software", {{"torch", "2.11.0"}}},
                 {"environment", {{"NCCL_DEBUG", "INFO"}}}};
  record.detail = {{"ranks", Json::array({to_json(rank)})},
                   {"samples", {{"step_ms", {50, 10, 10.5}}}},
                   {"window", {{"begin", 1}, {"end", 3}, {"steady", true}}},
                   {"evidence", Json::object()},
                   {"health", to_json(full_health())},
                   {"notes", Json::array()}};
  return record;
}

TEST_F(Schemas, Records) {
  const auto cell = make_cell();
  const auto json = to_json(full_record(cell));
  EXPECT_TRUE(valid("record", dump_line(json) + "\n" + dump_line(json["ranks"][0]) + "\n"));
  auto failed = make_launch(cell, 0, Status::oom, "out of memory");
  EXPECT_TRUE(valid("record", dump_line(to_json(failed)) + "\n"));
  const auto broken = [&](auto change) {
    auto copy = json;
    change(copy);
    return valid("record", dump_line(copy) + "\n");
  };
  EXPECT_FALSE(broken([](Json& j) { j["surprise"] = 1; }));
  EXPECT_FALSE(broken([](Json& j) { j["status"] = "fine"; }));
  EXPECT_FALSE(broken([](Json& j) { j["version"] = 2; }));
  EXPECT_FALSE(broken([](Json& j) { j["metrics"]["throughput"]["value"] = nullptr; }));
  EXPECT_FALSE(broken([](Json& j) { j["ranks"][0]["step_ms"][0] = -1; }));
  EXPECT_FALSE(broken([](Json& j) { j.erase("metrics"); }));
  EXPECT_FALSE(broken([](Json& j) { j["ranks"][0]["usage"]["minor_faults"] = -1; }));
  EXPECT_FALSE(broken([](Json& j) { j["ranks"][0]["usage"]["surprise"] = 1; }));
  EXPECT_FALSE(broken([](Json& j) { j["health"]["surprise"] = 1; }));
  EXPECT_FALSE(broken([](Json& j) { j["health"]["devices"][0]["samples"]["fan_percent"] = Json::array(); }));
  EXPECT_FALSE(broken([](Json& j) { j["health"]["devices"][0]["samples"].erase("t_s"); }));
  EXPECT_FALSE(broken([](Json& j) { j["health"]["devices"][0]["processes"][0]["owner"] = "me"; }));
  EXPECT_FALSE(broken([](Json& j) { j["health"]["host"]["samples"]["steal_percent"][0] = "0"; }));
  EXPECT_FALSE(broken([](Json& j) { j["health"].erase("period_s"); }));
  EXPECT_FALSE(broken([](Json& j) { j["scope"] = "rank"; }));
  EXPECT_FALSE(valid("record", "{\"schema\":\"stepgauge.record\",\"version\":1,\"scope\":\"launch\"}\n"));
}

TEST_F(Schemas, RunAndBaseline) {
  const auto cell = make_cell();
  auto run = RunFolder::create(folder_ / "r", run_info({cell}));
  run.append(full_record(cell));
  EXPECT_TRUE(valid("run", dump_line(parse_json(read(folder_ / "r" / "run.json"), "run.json")) + "\n"));
  EXPECT_TRUE(valid("record", read(folder_ / "r" / "records.jsonl")));
  const auto text = read(save(run.results(), folder_ / "b", {{"stepgauge", "run"}, "2026-11-30T00:00:00Z", "why"}));
  const auto header = text.substr(0, text.find('\n') + 1);
  EXPECT_TRUE(valid("baseline", header));
  EXPECT_TRUE(valid("record", text.substr(header.size())));
  auto newer = parse_json(header, "header");
  newer["version"] = 2;
  EXPECT_FALSE(valid("baseline", dump_line(newer) + "\n"));
}

TEST_F(Schemas, HistoryLines) {
  auto cell = make_cell();
  cell.tolerance["throughput"] = {0.05, std::nullopt};
  for (const std::string name : {"tip", "reference"}) {
    auto info = run_info({cell});
    info.command.push_back(name);
    RunFolder::create(folder_ / name, info).append(full_record(cell));
  }
  const auto added = add_night(folder_ / "h", folder_ / "tip",
                               {"abc", folder_ / "reference", "frozen", "2026-11-30T00:00:00Z", false});
  append_history(added.path, Acknowledgement{"*", added.run, "driver", "me", "2026-11-30T00:00:00Z"});
  append_history(added.path, Pin{added.run, "v1", "2026-11-30T00:00:00Z"});
  Confirmation line;
  line.cell = cell.id;
  line.metric = "throughput";
  line.last_good = {added.run, "c1"};
  line.first_bad = {added.run, "c2"};
  line.alarm_size = -0.03;
  line.at = "2026-11-30T00:00:00Z";
  append_history(added.path, line);
  line.change = line.ci_lower = line.ci_upper = 0.001;
  line.verdict = ConfirmationVerdict::not_confirmed;
  append_history(added.path, line);
  const auto text = read(added.path);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_TRUE(valid("history", text));
  auto odd = to_json(HistoryEntry(line));
  odd["verdict"] = "perhaps";
  EXPECT_FALSE(valid("history", dump_line(odd) + "\n"));
  const auto broken = [&](auto change) {
    auto line = parse_json(text.substr(0, text.find('\n')), "line");
    change(line);
    return valid("history", dump_line(line) + "\n");
  };
  EXPECT_FALSE(broken([](Json& j) { j["version"] = 2; }));
  EXPECT_FALSE(broken([](Json& j) { j["kind"] = "pin"; }));
  EXPECT_FALSE(broken([](Json& j) { j["tip"]["surprise"] = 1; }));
  EXPECT_FALSE(broken([](Json& j) { j["tip"]["cells"][0]["metrics"]["throughput"]["values"] = Json::array(); }));
  EXPECT_FALSE(broken([](Json& j) { j["tip"]["run"] = "last night"; }));
}

TEST_F(Schemas, Calibrations) {
  const auto cell = make_cell();
  CalibrationSession session{"20261130T000000Z-1a2b3c4d",
                             "unit",
                             "2026-11-30T00:00:00Z",
                             "2026-11-30T00:00:00Z",
                             "",
                             "runs/a",
                             {"stepgauge"},
                             cpu_machine(),
                             {}};
  session.cells.push_back({cell.id, cell.hash, {{"ok", 1}}, {{"throughput", "samples/s"}}, {}});
  session.cells[0].launches.push_back(
      {0, "2026-11-30T00:00:00Z", 12.5, {{"throughput", 100}}, CalibrationSteps{0.01, 50, 2}});
  const auto line = to_json(session);
  EXPECT_TRUE(valid("calibration", dump_line(line) + "\n"));
  const auto broken = [&](auto change) {
    auto copy = line;
    change(copy);
    return valid("calibration", dump_line(copy) + "\n");
  };
  EXPECT_FALSE(broken([](Json& j) { j["version"] = 2; }));
  EXPECT_FALSE(broken([](Json& j) { j["surprise"] = 1; }));
  EXPECT_FALSE(broken([](Json& j) { j["cells"][0]["launches"][0]["steps"]["inflation"] = 0; }));
  EXPECT_FALSE(broken([](Json& j) { j["cells"][0]["launches"][0]["values"]["throughput"] = nullptr; }));
  verdict::CalibrationContext context;
  context.suite = "unit";
  context.fingerprint = cpu_machine();
  const auto plan = to_json(verdict::judge_calibration({cell}, {session}, {}), context);
  EXPECT_TRUE(valid("plan", dump_line(plan) + "\n"));
  auto odd = plan;
  odd["rows"][0]["needed"] = 5;
  EXPECT_FALSE(valid("plan", dump_line(odd) + "\n"));
}

TEST_F(Schemas, Trends) {
  testing::Nights nights("throughput", 60);
  nights.add(12, 90);
  nights.control(71, 80);
  nights.series().known = {{2, "why", "me"}};
  nights.input.pin = {3, "v1"};
  const auto json = to_json(nights.judge());
  EXPECT_TRUE(valid("trend", dump_line(json) + "\n"));
  EXPECT_TRUE(valid("trend", dump_line(to_json(testing::Nights("idle_ratio", 1).judge())) + "\n"));
  verdict::TrendPolicy always;
  always.changes = verdict::ChangeSearch::always;
  testing::Nights young("throughput", 15, 0.002);
  young.add(6, 97, 0.002);
  const auto found = to_json(verdict::judge_trend(young.input, always));
  EXPECT_EQ(found["changes"].size(), 1u);
  EXPECT_TRUE(valid("trend", dump_line(found) + "\n"));
  young.input.nights.resize(19);
  young.series().tip.resize(19);
  young.series().reference.resize(19);
  EXPECT_TRUE(valid("trend", dump_line(to_json(verdict::judge_trend(young.input, always))) + "\n"))
      << "too few nights to name a commit";
  auto& confirmation = nights.series().confirmations.emplace_back();
  confirmation.last_good = 59;
  confirmation.first_bad = 60;
  confirmation.alarm_size = -0.1;
  confirmation.at = "2020-03-20T00:00:00Z";
  const auto measured = to_json(nights.judge());
  EXPECT_FALSE(measured["rows"][0]["alarms"][0]["confirmation"].is_null());
  EXPECT_TRUE(valid("trend", dump_line(measured) + "\n"));
  auto odd = json;
  odd["rows"][0]["alarms"][0]["direction"] = "up";
  EXPECT_FALSE(valid("trend", dump_line(odd) + "\n"));
}

TEST_F(Schemas, Comparisons) {
  const auto a = make_cell(), b = make_cell({.ranks = 2}), c = make_cell({.ranks = 4});
  const auto base =
      result_set("base", {measured(a, {{"throughput", around(100, 0.01)}, {"stall_ratio", around(5, 0.1)}}),
                          measured(b, {{"throughput", {1}}}), measured(c, {{"throughput", {1, 0, 2}}})});
  auto head = result_set(
      "head", {measured(slowed(a, 50), {{"throughput", around(50, 0.01)}}), measured(c, {{"throughput", {1}}})});
  const auto out = verdict::compare(base, head);
  EXPECT_TRUE(valid("comparison", dump_line(to_json(out)) + "\n"));
  head.fingerprint = gpu_machine("x");
  EXPECT_TRUE(valid("comparison", dump_line(to_json(verdict::compare(base, head))) + "\n"));
  auto odd = to_json(out);
  odd["rows"][0]["verdict"] = "ok";
  EXPECT_FALSE(valid("comparison", dump_line(odd) + "\n"));
}

}  // namespace
}  // namespace stepgauge::store
