// What is said to differ where a row is worse, from records made by hand: a share that is off, or "the same" of what
// nobody recorded, sends people the wrong way.
#include "verdict/why.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "build_results.hpp"
#include "verdict/compare.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;

using Change = std::function<void(LaunchRecord&)>;

CellResults launches_of(const Cell& cell, const Samples& samples, const Change& change = {}) {
  auto out = measured(cell, samples);
  for (auto& launch : out.launches) {
    if (change) change(launch);
  }
  return out;
}

struct Both {
  ResultSet base, head;
};

Why explained(const Both& both, const WhyOptions& options = {},
              const std::map<std::string, TraceEvidence>& traces = {}) {
  std::vector<JudgedRow> rows;
  for (const auto& row : compare(both.base, both.head).rows) rows.push_back(judged_row(row));
  return explain_rows({both.base, both.head, rows, traces, {}}, options);
}

const WhyRow& row_of(const Why& why, const std::string& metric) {
  for (const auto& row : why.rows) {
    if (row.row.metric == metric) return row;
  }
  throw std::runtime_error("no row of " + metric);
}

const WhyPart& part_of(const WhyRow& row, WhyKind kind) {
  for (const auto& part : row.parts) {
    if (part.kind == kind) return part;
  }
  throw std::runtime_error("no such part");
}

const WhyLine& line_of(const WhyPart& part, const std::string& name) {
  for (const auto& line : part.lines) {
    if (line.name == name) return line;
  }
  throw std::runtime_error("no line " + name);
}

Change phases(double build, double compile) {
  return [=](LaunchRecord& launch) {
    // Rank 1 starts quickly: the launch's init latency is rank 0's.
    launch.detail["ranks"] = {{{"phases_s", {{"spawn", 1.0}, {"build", build}, {"compile", compile}}}},
                              {{"phases_s", {{"spawn", 0.5}, {"build", 0.1}}}}};
  };
}

TEST(Why, InitLatencyIsSharedOutOverThePhasesOfTheSlowestRank) {
  const auto cell = make_cell({.ranks = 2});
  const auto why =
      explained({result_set("base", {launches_of(cell, {{"init_latency", around(6, 0.001)}}, phases(3, 2))}),
                 result_set("head", {launches_of(cell, {{"init_latency", around(10, 0.001)}}, phases(6, 3))})});
  ASSERT_EQ(why.rows.size(), 1u);
  EXPECT_EQ(why.exit_code, ExitCode::nothing_worse);
  const auto& part = part_of(row_of(why, "init_latency"), WhyKind::phases);
  EXPECT_EQ(part.lines.front().name, "build");
  EXPECT_NEAR(*line_of(part, "build").share, 0.75, 0.01);
  EXPECT_NEAR(*line_of(part, "compile").share, 0.25, 0.01);
  EXPECT_NEAR(*line_of(part, "spawn").share, 0, 1e-12);
  EXPECT_EQ(why.rows.front().parts.front().kind, WhyKind::phases) << "the most telling part stands first";
}

Change traced(double compute, double communication, double idle) {
  return [=](LaunchRecord& launch) {
    constexpr int steps = 5;
    const Json rank{
        {"compute_ms", steps * compute}, {"exposed_comm_ms", steps * communication},        {"exposed_copy_ms", 0},
        {"idle_ms", steps * idle},       {"communication_ms", steps * (communication + 2)}, {"collectives", 3 * steps},
        {"collective_mib", 6.0 * steps}};
    launch.detail["timeline"] = {{"steps", steps}, {"ranks", {rank, rank}}};
    launch.detail["timeline"]["collectives"] = Json::array();
    for (int i = 0; i < steps; ++i)
      launch.detail["timeline"]["collectives"].push_back(
          {{"longest_ms", communication + 1}, {"shortest_ms", 1}, {"last_rank", communication > 20 ? 1 : 0}});
  };
}

Samples speed(double step_ms) {
  return {{"throughput", around(100000 / step_ms, 0.0005)}, {"step_time", around(step_ms, 0.0005)}};
}

TEST(Why, ThroughputIsSharedOutOverThePartsOfAStep) {
  const auto cell = make_cell({.ranks = 2});
  const auto why = explained({result_set("base", {launches_of(cell, speed(100), traced(80, 10, 10))}),
                              result_set("head", {launches_of(cell, speed(120), traced(82, 28, 10))})});
  const auto& row = row_of(why, "throughput");
  const auto& phases = part_of(row, WhyKind::phases);
  EXPECT_EQ(phases.lines.front().name, "exposed communication");
  EXPECT_NEAR(*phases.lines.front().share, 0.9, 0.01);
  EXPECT_NEAR(*line_of(phases, "compute").share, 0.1, 0.01);
  EXPECT_THAT(phases.notes,
              ::testing::ElementsAre(::testing::HasSubstr("forward, backward and optimizer are not recorded")));
  const auto& collectives = part_of(row, WhyKind::collectives);
  EXPECT_NEAR(*line_of(collectives, "waiting for the last rank").head, 28, 1e-9);
  EXPECT_EQ(line_of(collectives, "comes last").head_text, "rank 1 in 100 %");
  EXPECT_FALSE(part_of(row, WhyKind::kernels).absent.empty());
  EXPECT_EQ(part_of(row, WhyKind::compile).absent, "eager compiles nothing");
}

TEST(Why, ATracedPassThatDoesNotShowTheChangeIsSaidSo) {
  const auto cell = make_cell();
  const auto why = explained({result_set("base", {launches_of(cell, speed(100), traced(80, 10, 10))}),
                              result_set("head", {launches_of(cell, speed(120), traced(80, 10, 10))})});
  const auto& row = row_of(why, "throughput");
  EXPECT_THAT(part_of(row, WhyKind::phases).notes,
              ::testing::Contains(::testing::HasSubstr("does not show the change")));
  EXPECT_EQ(part_of(row, WhyKind::collectives).absent, "one rank: there are no collectives");
}

TEST(Why, TracesGiveKernelsAndPhases) {
  const auto cell = make_cell();
  TraceEvidence traces;
  traces.work.push_back({"new_kernel", "appeared", 0, 4, 0, 19000, ""});
  traces.phases.push_back({"backward", 50, 69});
  const auto why = explained({result_set("base", {launches_of(cell, speed(100), traced(90, 0, 10))}),
                              result_set("head", {launches_of(cell, speed(120), traced(110, 0, 10))})},
                             {}, {{cell.id, traces}});
  const auto& row = row_of(why, "throughput");
  EXPECT_EQ(part_of(row, WhyKind::kernels).lines.at(0).how, "appeared");
  EXPECT_EQ(part_of(row, WhyKind::kernels).lines.at(0).note, "0 -> 4 a step");
  EXPECT_NEAR(*line_of(part_of(row, WhyKind::phases), "in backward").share, 0.95, 0.01);
}

TEST(Why, MemoryByPhaseAndWhatWasNotRecorded) {
  const auto memory = [](double backward) {
    return [=](LaunchRecord& launch) {
      launch.detail["memory"] = {{"phases",
                                  {{{"phase", "forward"}, {"peak_mib", 5000}, {"allocated_mib", 4000}},
                                   {{"phase", "backward"}, {"peak_mib", backward}, {"allocated_mib", 1000}}}}};
    };
  };
  const auto cell = make_cell();
  const Samples small{{"peak_memory", std::vector<double>(3, 10000)}},
      large{{"peak_memory", std::vector<double>(3, 12000)}};
  const auto why = explained({result_set("base", {launches_of(cell, small, memory(10000))}),
                              result_set("head", {launches_of(cell, large, memory(12000))})});
  const auto& part = part_of(row_of(why, "peak_memory"), WhyKind::memory);
  ASSERT_EQ(part.lines.size(), 1u);
  EXPECT_EQ(part.lines[0].name, "peak in backward");
  EXPECT_NEAR(*part.lines[0].share, 1, 1e-9);
  const auto half = explained(
      {result_set("base", {launches_of(cell, small)}), result_set("head", {launches_of(cell, large, memory(12000))})});
  EXPECT_EQ(part_of(row_of(half, "peak_memory"), WhyKind::memory).absent, "memory by phase is not recorded by base");
}

TEST(Why, SettingsOfEveryCellAreTakenTogetherAndStandFirst) {
  const auto with = [](const char* nccl, const char* used, const char* variable) {
    return [=](LaunchRecord& launch) {
      launch.detail["ranks"] = {
          {{"software", {{"nccl", nccl}}},
           {"environment", {{"NCCL_ALGO", variable}, {"NCCL_DEBUG_FILE", launch.started_at + nccl}}}}};
      launch.detail["settings"] = {{"transport", {{"asked", "auto"}, {"used", used}}}};
    };
  };
  const auto one = make_cell({.ranks = 2}), two = make_cell({.precision = "bf16", .ranks = 2});
  const auto why = explained({result_set("base", {launches_of(one, speed(100), with("2.27", "p2p", "Ring")),
                                                  launches_of(two, speed(100), with("2.27", "p2p", "Ring"))}),
                              result_set("head", {launches_of(one, speed(120), with("2.28", "socket", "Ring")),
                                                  launches_of(two, speed(100), with("2.28", "p2p", "Ring"))})});
  ASSERT_EQ(why.everywhere.size(), 1u);
  EXPECT_EQ(why.everywhere[0].name, "nccl");
  EXPECT_EQ(why.everywhere[0].head_text, "2.28");
  const auto& first = row_of(why, "throughput").parts.front();
  EXPECT_EQ(first.kind, WhyKind::settings);
  ASSERT_EQ(first.lines.size(), 1u);
  EXPECT_EQ(first.lines[0].name, "transport, used");
  EXPECT_EQ(first.lines[0].head_text, "socket");
  ASSERT_EQ(why.patterns.size(), 1u);
  EXPECT_THAT(why.patterns[0].text(), ::testing::HasSubstr("exactly the 1 of 2 judged cells with precision=fp32"));
}

TEST(Why, CompilerFacts) {
  const auto compiled = [](int breaks, double seconds) {
    return [=](LaunchRecord& launch) {
      Json places = Json::array();
      for (int i = 0; i < breaks; ++i)
        places.push_back({{"reason", "print"}, {"function", "forward"}, {"file", "twin.py"}, {"line", 10 + i}});
      launch.detail["compile"] = {{"captures_late", 0}, {"compile_s", seconds}, {"graph_breaks", places}};
      launch.metrics["graph_breaks"] = {breaks, "count", ""};
    };
  };
  const auto cell = make_cell({.compile = "compile.default"});
  const auto why = explained(
      {result_set("base", {launches_of(cell, {{"first_step_latency", around(10, 0.001)}}, compiled(0, 8))}),
       result_set("head", {launches_of(cell, {{"first_step_latency", around(20, 0.001)}}, compiled(1, 16))})});
  const auto& part = part_of(row_of(why, "first_step_latency"), WhyKind::compile);
  EXPECT_NEAR(*line_of(part, "compile_s").share, 0.8, 0.01);
  EXPECT_EQ(*line_of(part, "graph breaks").head, 1);
  EXPECT_EQ(line_of(part, "graph break").head_text, "print in forward at twin.py:10");
}

TEST(Why, FailedLaunchesAreExplainedByTheirEnds) {
  const auto cell = make_cell();
  const auto base = launches_of(cell, speed(100));
  auto head = base;
  for (auto& launch : head.launches) {
    launch.status = Status::crashed;
    launch.reason = "signal 11";
    launch.detail["evidence"] = {{"ranks", {{{"last_phase", "build"}}}}};
  }
  JudgedRow row;
  row.cell = row.base_cell = cell.id;
  row.metric = launches_row;
  row.verdict = Verdict::regressed;
  const auto base_set = result_set("base", {base}), head_set = result_set("head", {head});
  const auto why = explain_rows({base_set, head_set, {row}, {}, {}}, {});
  const auto& part = part_of(row_of(why, launches_row), WhyKind::failures);
  EXPECT_THAT(part.notes, ::testing::ElementsAre("head: crashed: signal 11; last phase build"));
  EXPECT_EQ(why.exit_code, ExitCode::nothing_worse);
}

TEST(Why, NothingWorseAndNothingCompared) {
  const auto set = result_set("x", {launches_of(make_cell(), speed(100))});
  const auto why = explained({set, set});
  EXPECT_TRUE(why.rows.empty());
  EXPECT_EQ(why.exit_code, ExitCode::nothing_worse);
  EXPECT_EQ(explain_rows({set, set, {}, {}, {}}, {}).exit_code, ExitCode::not_comparable);
}

TEST(Why, InconclusiveRowsOnlyWhenAskedFor) {
  const auto cell = make_cell();
  const Both noisy{result_set("base", {launches_of(cell, {{"throughput", around(1000, 0.2)}})}),
                   result_set("head", {launches_of(cell, {{"throughput", around(950, 0.2)}})})};
  EXPECT_TRUE(explained(noisy).rows.empty());
  WhyOptions all;
  all.undecided = true;
  EXPECT_EQ(explained(noisy, all).rows.size(), 1u);
  all.cells = {"another"};
  EXPECT_TRUE(explained(noisy, all).rows.empty());
}

TEST(Why, RecordsOfOddShapeAreNotTrusted) {
  const auto cell = make_cell({.ranks = 2});
  const auto odd = [](LaunchRecord& launch) {
    launch.detail = {{"ranks", {5, nullptr, {{"phases_s", "x"}}}},
                     {"timeline", {{"steps", "five"}, {"ranks", {1}}, {"collectives", {nullptr}}}},
                     {"settings", {{"x", 3}}},
                     {"memory", {{"phases", {1, {{"phase", 2}}}}}},
                     {"compile", {{"graph_breaks", {1}}}},
                     {"communication", {{"by_kind", 1}}},
                     {"evidence", 1}};
  };
  Samples worse = speed(120);
  worse["peak_memory"] = {20000, 20000, 20000};
  worse["init_latency"] = {20, 20, 20};
  Samples good = speed(100);
  good["peak_memory"] = {10000, 10000, 10000};
  good["init_latency"] = {10, 10, 10};
  const auto why = explained(
      {result_set("base", {launches_of(cell, good, odd)}), result_set("head", {launches_of(cell, worse, odd)})});
  EXPECT_EQ(why.rows.size(), 3u);
}

}  // namespace
}  // namespace stepgauge::verdict
