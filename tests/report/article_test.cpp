// The article's claims beside measurements by hand, against golden/article_*.md; after a wanted change
// STEPGAUGE_UPDATE_GOLDEN=1 test_report_article, then read the diff.
#include "report/article.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <stdexcept>

#include "build_results.hpp"
#include "expect_golden.hpp"
#include "report/baseline_table.hpp"
#include "report/detail/escape.hpp"

namespace stepgauge::report {
namespace {

using namespace stepgauge::testing;
using ::testing::HasSubstr;
using ::testing::Not;

void expect_article(const std::string& row, const ResultSet& results, const SnapshotsByCell& snapshots = {}) {
  testing::expect_golden("article_" + row + ".md", article_markdown(results, row, snapshots));
  const auto shown = article_text(results, row, snapshots);
  for (std::size_t begin = 0; begin < shown.size();) {
    const auto end = std::min(shown.find('\n', begin), shown.size());
    EXPECT_LE(detail::columns(shown.substr(begin, end - begin)), 100u) << shown.substr(begin, end - begin);
    begin = end + 1;
  }
}

Cell cell_of(const std::string& mode, const std::string& cache = "", int ranks = 1) {
  auto cell = make_cell({.precision = "bf16", .compile = mode, .ranks = ranks});
  cell.cache = cache;
  assign_identity(cell);
  return cell;
}

CellResults started(const Cell& cell, double init_s, double first_s, double peak_mib) {
  return measured(cell, {{"init_latency", {init_s, init_s}},
                         {"first_step_latency", {first_s, first_s}},
                         {"step_time", {50, 51}},
                         {"throughput", {640, 630}},
                         {"peak_memory", {peak_mib, peak_mib}}});
}

ResultSet on_gpus(std::vector<CellResults> cells) {
  auto out = result_set("runs/a", std::move(cells));
  out.fingerprint = gpu_machine("NVIDIA H200");
  return out;
}

TEST(Article, A1StartUpColdAndWarmApart) {
  const auto results = on_gpus({started(cell_of("eager"), 2, 1.5, 9000), started(cell_of("torchscript"), 2, 4, 9000),
                                started(cell_of("compile.reduce-overhead", "cold"), 6, 44, 12000),
                                started(cell_of("compile.reduce-overhead", "warm"), 6, 9, 12000)});
  expect_article("A1", results);
  const auto text = article_markdown(results, "A1");
  const auto cold = text.find("Measured, cold start"), warm = text.find("Measured, warm start");
  EXPECT_NE(text.find("reduce-overhead.cold |"), std::string::npos);
  EXPECT_LT(text.find("reduce-overhead.cold |"), warm);
  EXPECT_LT(cold, warm);
  EXPECT_THAT(text, HasSubstr("| start: init + first step | - | +733 % | +150 % |"));
}

TEST(Article, A2CensusAndGrowth) {
  auto script = measured(cell_of("torchscript"), {{"step_time", {50}}});
  auto compiled = measured(cell_of("compile.default", "cold"), {{"step_time", {40}}});
  script.launches[0].detail["ir_census"] = {
      {{"ir", "torchscript.raw"},
       {"nodes", 1000},
       {"memory_mib", 2},
       {"method", "text"},
       {"kinds", {{"aten::conv2d", 20}, {"aten::relu", 17}, {"prim::Constant", 900}}}},
      {{"ir", "torchscript.optimised"}, {"nodes", 500}, {"method", "text"}}};
  compiled.launches[0].detail["ir_census"] = {{{"ir", "fx.symbolic"}, {"nodes", 70}, {"memory_mib", 1}, {"rss_mib", 3}},
                                              {{"ir", "aot.forward"}, {"nodes", 400}},
                                              {{"ir", "aot.backward"}, {"nodes", 600}},
                                              {{"ir", "export"}, {"absent", "no export of this program"}}};
  const auto results = on_gpus({script, compiled});
  expect_article("A2", results);
  EXPECT_THAT(article_markdown(results, "A2"), HasSubstr("| 0.07 | 2.00 | 0.50 |"));
}

CellResults recomputing(const std::string& policy, bool static_graph, double launches, double gpu_ms) {
  auto cell = cell_of("eager", "", 2);
  cell.checkpointing = policy;
  cell.ddp.static_graph = static_graph;
  assign_identity(cell);
  auto out = measured(cell, {{"launches_per_step", {launches}},
                             {"kernels_per_step", {launches - 5}},
                             {"step_time", {gpu_ms + 1}},
                             {"peak_memory", {policy == "none" ? 8000.0 : 3000.0}}});
  out.launches[0].detail["timeline"] = {{"steps", 5}, {"ranks", {{{"compute_ms", gpu_ms * 5}}}}};
  return out;
}

TEST(Article, A4LaunchesAndStaticGraph) {
  const auto results = on_gpus(
      {recomputing("none", false, 300, 40), recomputing("full", false, 400, 52), recomputing("full", true, 390, 51)});
  expect_article("A4", results);
  EXPECT_THAT(article_markdown(results, "A4"), HasSubstr("| eager, full | -2.50 % | -1.92 % |"));
}

ResultSet seen() {
  const Json located{{"located", true}, {"by", {"device mark"}}}, not_located{{"located", false}, {"why", "none"}};
  auto eager = measured(cell_of("eager", "", 2), {{"step_time", {50}}});
  auto compiled = measured(cell_of("compile.default", "cold", 2), {{"step_time", {40}}});
  eager.launches[0].detail["visibility"] = {{"forward", located}, {"backward", located}, {"all_reduce", located}};
  compiled.launches[0].detail["visibility"] = {
      {"forward", located}, {"backward", not_located}, {"all_reduce", located}};
  return on_gpus({eager, compiled});
}

TEST(Article, A6WhatCanBeLocated) {
  expect_article("A6", seen());
  EXPECT_THAT(article_markdown(seen(), "A6"),
              HasSubstr("| DDP and compilation | not visible | 1 of 1 cells | 0 of 1 cells |"));
}

TEST(Article, A8Snapshots) {
  const auto results = seen();
  const SnapshotsByCell snapshots{
      {results.cells[1].cell.id, {2, 40, 30, 27, 1, {"graph break: print in dynamo:0/0, twin.py:12"}}}};
  expect_article("A8", results, snapshots);
  EXPECT_THAT(article_markdown(results, "A8"), HasSubstr("from records alone"));
}

Cell communicating(const std::function<void(CellDdp&)>& change) {
  auto cell = make_cell({.precision = "bf16", .ranks = 2});
  cell.ddp.backend = "nccl";
  cell.launches = 1;
  change(cell.ddp);
  assign_identity(cell);
  return cell;
}

CellResults over(const std::string& transport, const std::string& used, double stall, double step_ms, double gbps) {
  auto out = measured(communicating([&](CellDdp& ddp) { ddp.transport = transport; }),
                      {{"stall_ratio", {stall}}, {"exposed_comm", {stall - 1}}, {"step_time", {step_ms}}});
  auto& detail = out.launches[0].detail;
  detail["settings"]["transport"] = {{"used", used + " (24 channels: 0->1, 1->0)"}};
  detail["settings"]["algorithm"] = {{"used", "ring (300 all-reduces of 4 B to 100 MiB)"}};
  detail["settings"]["protocol"] = {{"used", "ll (10 all-reduces of 4 B to 1 MiB), simple (290 all-reduces)"}};
  detail["communication"] = {
      {"latency_us", 12.5},
      {"sweep", {{{"bytes", 64 << 20}, {"busbw_gbps", 0.8 * gbps}}, {{"bytes", 1 << 30}, {"busbw_gbps", gbps}}}}};
  return out;
}

ResultSet topologies() {
  auto auto_ = over("auto", "p2p", 3, 33.7, 325);
  auto socket = over("socket", "socket", 83, 188.7, 3.7);
  socket.launches[0].detail["topology_check"] = {
      {"stall_ratio", 83}, {"alarm", 35}, {"findings", {"GPU 0 - GPU 1: NVLink, but NCCL uses sockets", "second"}}};
  auto_.launches[0].detail["nccl"] = {{"start", "NCCL took 0.5 s to start (rank 0, the slowest)"}};
  auto out = on_gpus({auto_, socket});
  out.skipped.push_back({"resnet50/cuda.ddp2.ib-1", "1", Status::unsupported, "needs InfiniBand"});
  return out;
}

TEST(Article, A3TopologiesWithWhatTheAlarmFound) {
  expect_article("A3", topologies());
  const auto text = article_markdown(topologies(), "A3");
  EXPECT_THAT(
      text, HasSubstr("| socket | socket | ring/ll .. | 83.00 | 82.00 | 188.7 | 2.960 | 3.700 | 12.50 | ok, alarm |"));
  EXPECT_THAT(text, HasSubstr("Alarm, socket: GPU 0 - GPU 1"));
}

TEST(Article, A3WhatTheProcessGroupAddsToNccl) {
  auto results = topologies();
  EXPECT_THAT(article_markdown(results, "A3"), Not(HasSubstr("by NCCL alone")));
  auto& communication = results.cells[0].launches[0].detail["communication"];
  communication["sweep"][1]["time_us"] = 3300;
  communication["sweep_bare"] = {
      {{"bytes", 8}, {"time_us", 10}}, {{"bytes", 1 << 30}, {"time_us", 3267}}, {{"bytes", 7}}};
  const auto text = article_markdown(results, "A3");
  EXPECT_THAT(text, HasSubstr("| auto | 8 | 12.50 | 10.00 | 0.8000 |"));
  EXPECT_THAT(text, HasSubstr("| auto | 1073741824 | 3300 | 3267 | 0.9900 |"));
}

TEST(Article, A9SaysWhereTheLogsAre) {
  auto results = topologies();
  expect_article("A9", results);
  EXPECT_THAT(article_markdown(results, "A9"), HasSubstr("nothing to replay"));
  results.cells[0].launches[0].detail["evidence"] = {{"folder", "launches/0001"},
                                                     {"collective_logs", {"rank0.collectives.jsonl", "rank1"}}};
  EXPECT_THAT(article_markdown(results, "A9"), HasSubstr("| launches/0001 | 2 | ok | - |"));
}

TEST(Article, A11OverlapAgainstTheLimit) {
  const auto strategy = [](const std::string& overlap, double work, double ratio, double step_ms) {
    auto out = measured(
        communicating([&](CellDdp& ddp) { ddp.overlap = overlap; }),
        {{"throughput", {work}}, {"overlap_ratio", {ratio}}, {"exposed_comm", {20}}, {"step_time", {step_ms}}});
    out.launches[0].detail["communication"]["ideal"] = {
        {"compute_ms", 40}, {"communication_ms", 25}, {"limit_ms", 40}, {"distance", step_ms / 40}};
    return out;
  };
  const auto results = on_gpus({strategy("none", 1000, 0, 66), strategy("ddp", 1500, 70, 44)});
  expect_article("A11", results);
  const auto text = article_markdown(results, "A11");
  EXPECT_THAT(text, HasSubstr("| ddp | 1500 | +50.0 % | 70.00 | 20.00 | 44.00 | 40.00 | 25.00 | 1.100 | ok |"));
}

CellResults compressed(const std::string& hook, double work, double mib, int losses, double worse) {
  auto out = measured(communicating([&](CellDdp& ddp) {
                        ddp.hook = hook;
                        ddp.hook_share = 0.3;
                        ddp.transport = "socket";
                      }),
                      {{"throughput", {work}}, {"peak_memory", {9000}}});
  out.launches[0].detail["communication"] = {{"bytes_per_step_sent", mib * 1024 * 1024}, {"error_state_mib", 500}};
  for (int i = 0; i < losses; ++i) out.launches[0].detail["losses"].push_back((i < 180 ? 5 : 1) * 2.0 * (1 + worse));
  return out;
}

TEST(Article, A13CompressionAgainstTheUncompressedTwin) {
  const auto results = on_gpus({compressed("", 100, 1000, 200, 0), compressed("top_k_fp8", 250, 400, 200, 0.01),
                                compressed("bf16", 150, 500, 50, 0.001)});
  expect_article("A13", results);
  const auto text = article_markdown(results, "A13");
  EXPECT_THAT(text, HasSubstr("| top\\_k\\_fp8 30 % | 400.0 | 9000 | 500.0 | 250.0 | +150 % | 1 % | ok |"));
  EXPECT_THAT(text, HasSubstr("50 losses kept"));  // too few to say anything
}

TEST(Article, AnUnknownRowIsAnsweredWithTheKnownOnes) {
  try {
    article_markdown(seen(), "A7");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("A1, A2, A3, A4, A6, A8, A9, A11, A13"));
  }
}

TEST(Article, RowsOfSuites) {
  EXPECT_EQ(article_row_of_suite("a01_compile_modes"), "A1");
  EXPECT_EQ(article_row_of_suite("a08_graph_snapshots"), "A8");
  EXPECT_EQ(article_row_of_suite("a11_overlap"), "A11");
  for (const char* other : {"", "a", "a01", "abc_x", "a10_rewrites", "nightly"})
    EXPECT_EQ(article_row_of_suite(other), "") << other;
}

TEST(Article, EveryRowHoldsWithNothingMeasured) {
  for (const auto& row : article_rows()) {
    EXPECT_FALSE(article_text(result_set("a", {}), row).empty());
    EXPECT_FALSE(article_markdown(result_set("a", {}), row).empty());
  }
}

TEST(Article, TheSuitesOwnTableHasItsRow) {
  auto results = seen();
  results.suite = "a06_visibility";
  EXPECT_THAT(baseline_markdown(results, {}), HasSubstr("## Article A6"));
  results.suite = "nightly";
  EXPECT_THAT(baseline_markdown(results, {}), Not(HasSubstr("Article")));
  EXPECT_THAT(baseline_markdown(results, {}), HasSubstr("## Compile modes"));
}

}  // namespace
}  // namespace stepgauge::report
