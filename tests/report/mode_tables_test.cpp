// Tables of compile modes, checkpointing, precisions and visibility against golden/modes.*; after a wanted change
// STEPGAUGE_UPDATE_GOLDEN=1 test_report_modes, then read the diff.
#include "report/mode_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "build_results.hpp"
#include "expect_golden.hpp"
#include "report/detail/cell_groups.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/mode_sheets.hpp"
#include "report/run_table.hpp"

namespace stepgauge::report {
namespace {

using namespace stepgauge::testing;
using ::testing::HasSubstr;
using ::testing::Not;

Cell cell_of(const std::string& mode, const std::string& cache = "", const std::string& worker = "stepgauge") {
  auto cell = make_cell({.precision = "bf16", .compile = mode});
  cell.cache = cache;
  cell.worker = worker;
  assign_identity(cell);
  return cell;
}

Cell checkpointed(const std::string& policy, bool static_graph = false) {
  auto cell = make_cell({"llama.tiny", "bf16_pure", "eager", 2});
  cell.checkpointing = policy;
  cell.ddp.static_graph = static_graph;
  assign_identity(cell);
  return cell;
}

Samples samples(double first_s, double step_ms, double peak_mib) {
  return {{"init_latency", {2.1, 2.2, 2.0}},
          {"first_step_latency", {first_s, first_s * 1.02, first_s * 0.97}},
          {"time_to_steady", {first_s + 3, first_s + 3.1, first_s + 2.9}},
          {"step_time", around(step_ms, 0.004, 3)},
          {"throughput", around(1000 * 32 / step_ms, 0.004, 3)},
          {"peak_memory", {peak_mib, peak_mib, peak_mib + 2}},
          {"loss_error", {2e-4, 2e-4, 3e-4}}};
}

Samples compiled(double compile_s, double first_s, double step_ms, double pools_mib, double breaks = 0) {
  auto out = samples(first_s, step_ms, 5120);
  out["compile_time"] = {compile_s, compile_s, compile_s};
  out["graph_captures"] = {2, 2, 2};
  out["graph_breaks"] = {breaks, breaks, breaks};
  out["recompiles"] = {0, 0, 0};
  if (pools_mib > 0) out["graph_pools"] = {pools_mib, pools_mib, pools_mib};
  return out;
}

Json located(const char* mark) {
  return {{"located", true}, {"by", {mark, "user annotation"}}};
}

void see(CellResults& cell, const char* mark) {
  const Json none{{"located", false}, {"why", "not applicable: one rank"}};
  for (auto& launch : cell.launches)
    launch.detail["visibility"] = {{"forward", located(mark)},
                                   {"backward", located(mark)},
                                   {"optimizer", located(mark)},
                                   {"bucket", none},
                                   {"all_reduce", none}};
}

std::vector<CellResults> modes() {
  auto eager = measured(cell_of("eager"), samples(1.5, 60, 5000));
  see(eager, "device mark");
  auto cold = measured(cell_of("compile.default", "cold"), compiled(20, 25, 40, 0, 2));
  for (auto& launch : cold.launches)
    launch.detail["compile"] = {{"graph_breaks",
                                 {{{"reason", "call to print\x1b[31m"},
                                   {"file", "workloads/resnet/twin.py"},
                                   {"line", 12},
                                   {"function", "forward"},
                                   {"count", 2}}}}};
  see(cold, "device mark");
  auto warm = measured(cell_of("compile.default", "warm"), compiled(2, 4, 40, 0));
  warm.launches[2].status = Status::unsteady;
  warm.launches[2].reason = "a step behind the warm-up compiled again: forward at twin.py:12, guard: x.size()[0] == 32";
  auto overhead = measured(cell_of("compile.reduce-overhead", "cold"), compiled(21, 27, 38, 4100));
  auto graph = measured(cell_of("cuda_graph"), compiled(0.004, 1.6, 50, 4000));
  see(graph, "graph mark");
  CellResults broken{cell_of("torchscript"), {}};
  add_failure(broken, Status::incorrect,
              "rank 0 does not agree with the eager fp64 reference: step 1: loss 2.3 against 2.1");
  auto peer = measured(cell_of("compile.default", "cold", "peer"), samples(26, 41, 5100));
  return {eager, cold, warm, overhead, graph, broken, peer};
}

Samples memory(double step_ms, double peak_mib, double kernels) {
  return {{"step_time", around(step_ms, 0.004, 3)},
          {"throughput", around(1000 * 32 / step_ms, 0.004, 3)},
          {"peak_memory", {peak_mib, peak_mib + 3, peak_mib}},
          {"kernels_per_step", {kernels, kernels, kernels}},
          {"launches_per_step", {kernels + 10, kernels + 10, kernels + 10}}};
}

CellResults recomputing(const std::string& policy, const Samples& values, int blocks) {
  auto out = measured(checkpointed(policy), values);
  for (auto& launch : out.launches)
    launch.detail["checkpoint"] = {{"asked", policy}, {"blocks", 10}, {"recomputed_blocks_per_step", blocks}};
  return out;
}

ResultSet run() {
  auto cells = modes();
  cells.push_back(measured(checkpointed("none"), memory(100, 8000, 300)));
  cells.push_back(recomputing("full", memory(130, 3000, 390), 10));
  cells.push_back(recomputing("every_2", memory(115, 5500, 345), 5));
  cells.push_back(recomputing("selective", memory(101, 7960, 310), 10));
  cells.push_back(measured(checkpointed("full", true), memory(130, 3000, 390)));
  auto bf16 = make_cell({"llama.tiny", "bf16_pure", "compile.default", 1}), fp8 = bf16;
  fp8.precision = "fp8";
  assign_identity(fp8);
  auto rates = samples(20, 80, 9000);
  rates["tflops"] = {400, 401, 399};
  rates["mfu"] = {40.4, 40.5, 40.3};
  cells.push_back(measured(bf16, rates));
  rates.erase("mfu");
  rates["tflops"] = {520, 521, 519};
  cells.push_back(measured(fp8, rates));
  return result_set("runs/modes", cells);
}

TEST(Golden, ModeTables) {
  const auto text = mode_tables(run());
  expect_golden("modes.txt", text);
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    EXPECT_LE(detail::columns(text.substr(begin, end - begin)), 100u) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(Golden, ModeTablesMarkdown) {
  expect_golden("modes.md", mode_tables_markdown(run()));
}

TEST(ModeTables, ARunOfEagerCellsHasNoneOfThem) {
  auto eager = measured(cell_of("eager"), samples(1.5, 60, 5000));
  see(eager, "device mark");
  EXPECT_EQ(mode_tables(result_set("runs/a", {eager})), "");
}

TEST(ModeTables, StandInTheRunsOwnTable) {
  EXPECT_THAT(run_table(run()), HasSubstr("Compile modes: start-up and speed"));
  const auto json = run_summary_json(run());
  EXPECT_EQ(json["cells"][1]["modes"]["graph_breaks"], 2);
  EXPECT_TRUE(json["cells"][0]["modes"]["compile_time"].is_null());
  EXPECT_NO_THROW(dump_line(json));
}

TEST(ModeTables, ColdAndWarmCachesMayEndInTheSameKernels) {
  const auto with_work = [](const Cell& cell) {
    auto out = measured(cell, {{"stall_ratio", {10}}});
    out.launches[0].detail["timeline"] = {{"signature", "0011223344556677"}};
    return out;
  };
  const auto cold = with_work(cell_of("compile.default", "cold")), warm = with_work(cell_of("compile.default", "warm"));
  EXPECT_THAT(run_table(result_set("a", {cold, warm})), Not(HasSubstr("ran the same kernels")));
  const auto eager = with_work(cell_of("eager"));
  EXPECT_THAT(run_table(result_set("a", {cold, warm, eager})), HasSubstr("ran the same kernels"));
}

TEST(CellGroups, CellsThatDifferInOneAxisAloneStandTogether) {
  auto static_graph = checkpointed("none", true);
  const auto results = result_set(
      "a", {measured(checkpointed("none"), {}), measured(checkpointed("full"), {}), CellResults{static_graph, {}}});
  const auto groups = detail::group_cells(results, detail::Axis::checkpointing);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].cells.size(), 2u);
  EXPECT_EQ(groups[0].cells[1].name, "full");
  EXPECT_THAT(groups[1].title, HasSubstr("static_graph"));
}

TEST(CellGroups, OptionsAndCachesAreInTheNameOfTheMode) {
  auto cell = cell_of("compile.default", "warm");
  cell.compile_options.fullgraph = true;
  cell.ddp.wrapper = "reducer";
  EXPECT_EQ(detail::axis_value(cell, detail::Axis::mode), "compile.default+fullgraph.warm (reducer)");
}

std::string effect(double with, double without, double spread = 0, const std::string& device = "cuda") {
  auto plain = checkpointed("none"), full = checkpointed("full");
  for (auto* cell : {&plain, &full}) {
    cell->device = device;
    assign_identity(*cell);
  }
  const auto results = result_set("a", {measured(plain, {{"peak_memory", {without, without + spread}}}),
                                        measured(full, {{"peak_memory", {with, with}}})});
  const auto sheet = detail::checkpointing_sheet(results);
  return sheet.groups.at(0).rows.at(1).texts.back();
}

TEST(Checkpointing, ASavingWithinTheNoiseHadNoEffect) {
  EXPECT_EQ(effect(3000, 8000), "saves");
  EXPECT_EQ(effect(7930, 8000), "had no effect") << "under 1 %";
  EXPECT_EQ(effect(20, 20.9), "had no effect") << "under 1 MiB";
  EXPECT_EQ(effect(20, 20.9, 0, "cpu"), "saves") << "a CPU's bytes are counted";
  EXPECT_EQ(effect(7500, 8000, 1100), "had no effect") << "within the spread over launches";
  EXPECT_EQ(effect(9000, 8000), "costs memory");
}

TEST(ModeTables, NonsenseInARecordIsShownAsNothing) {
  auto cell = measured(cell_of("compile.default", "cold"), compiled(20, 25, 40, 0, 2));
  for (const Json& nonsense : {Json(3), Json("x"), Json::array({1, nullptr}), Json{{"graph_breaks", {1, "x"}}}}) {
    for (const char* key : {"compile", "checkpoint", "visibility"}) cell.launches[0].detail[key] = nonsense;
    cell.launches.resize(1);
    EXPECT_THAT(mode_tables(result_set("a", {cell})), HasSubstr("compile.default.cold"));
  }
}

}  // namespace
}  // namespace stepgauge::report
