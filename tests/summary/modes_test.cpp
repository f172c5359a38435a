// Compiled modes, checkpointing and the comparison with the reference: metrics, statuses, and what the record keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../trace/timelines.hpp"
#include "contract/metrics.hpp"
#include "summary/launch_summary.hpp"
#include "summary/mode_metrics.hpp"

namespace stepgauge::summary {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using trace::test::ms;

Cell cell_of(const std::string& mode, int ranks = 1) {
  Cell cell;
  cell.workload = {"resnet18", "resnet", {}};
  cell.compile = mode;
  cell.cache = has_compile_caches(mode) ? "cold" : "";
  cell.ddp.ranks = ranks;
  assign_identity(cell);
  return cell;
}

Json compile_part() {
  return {{"mode", "compile.default"},
          {"captures", 3},
          {"captures_late", 0},
          {"graph_breaks",
           {{{"reason", "print"}, {"file", "twin.py"}, {"line", 7}, {"function", "forward"}, {"count", 2}}}},
          {"recompiles", Json::array()},
          {"compile_s", 12.5},
          {"graph_nodes", 400},
          {"caches", {{"asked", "cold"}, {"entries_before", 0}, {"hits", 0}, {"misses", 3}}}};
}

RankRecord rank_of(const Cell& cell, int rank = 0) {
  RankRecord record;
  record.cell_id = cell.id;
  record.cell_hash = cell.hash;
  record.rank = rank;
  record.world_size = cell.ddp.ranks;
  record.phases_s = {{"spawn", 0.25}};
  record.step_ms.assign(61, 10);
  record.measured_from = 11;
  record.first_step_s = 2.0;
  record.work_per_step = 32;
  record.flops_per_step = 4e12;
  record.peak_tflops = 1000;
  record.memory_steady = {340.0, 350.0, 16000.0};
  if (cell.compile != "eager") record.detail["compile"] = compile_part();
  return record;
}

LaunchRecord summary_of(const Cell& cell, std::vector<RankRecord> ranks,
                        std::vector<trace::RankTimeline> timelines = {}) {
  LaunchFacts facts;
  facts.ranks = std::move(ranks);
  facts.timelines = std::move(timelines);
  return summarise(cell, facts);
}

double value(const LaunchRecord& record, const char* metric) {
  return record.metrics.at(metric).value.value();
}

std::string absent(const LaunchRecord& record, const char* metric) {
  EXPECT_FALSE(record.metrics.at(metric).value) << metric;
  return record.metrics.at(metric).absent;
}

TEST(ModeMetrics, WhatTheCompilerDidOfTheWorstRank) {
  const auto cell = cell_of("compile.default", 2);
  auto slow = rank_of(cell, 1);
  slow.detail["compile"]["compile_s"] = 20;
  slow.detail["compile"]["recompiles"] = {{{"function", "forward"}, {"guard", "size"}, {"late", false}}};
  const auto record = summary_of(cell, {rank_of(cell), slow});
  EXPECT_EQ(record.status, Status::ok) << record.reason;
  EXPECT_DOUBLE_EQ(value(record, "compile_time"), 20);
  EXPECT_DOUBLE_EQ(value(record, "graph_captures"), 3);
  EXPECT_DOUBLE_EQ(value(record, "graph_breaks"), 2) << "each break as often as it was met";
  EXPECT_DOUBLE_EQ(value(record, "recompiles"), 1);
  EXPECT_EQ(record.detail.at("compile").at("compile_s"), 12.5) << "rank 0's";
}

TEST(ModeMetrics, WhatAModeCannotHaveIsAbsentWithItsReason) {
  const auto eager = cell_of("eager");
  const auto record = summary_of(eager, {rank_of(eager)});
  EXPECT_EQ(absent(record, "compile_time"), "eager compiles nothing");
  EXPECT_EQ(absent(record, "graph_breaks"), "eager compiles nothing");
  EXPECT_EQ(absent(record, "graph_pools"), "eager captures no CUDA graph");
  EXPECT_EQ(absent(record, "ir_nodes"), "eager has no intermediate representation");
  EXPECT_EQ(absent(record, "loss_error"), "the worker did not report it");
  const auto graph = cell_of("cuda_graph");
  auto rank = rank_of(graph);
  rank.detail["compile"] = {{"captures", 1}, {"compile_s", 0.01}};
  EXPECT_THAT(absent(summary_of(graph, {rank}), "graph_breaks"), HasSubstr("whole or not at all"));
  auto other = cell_of("compile.default");
  rank = rank_of(other);
  rank.detail.erase("compile");
  EXPECT_EQ(absent(summary_of(other, {rank}), "compile_time"), "the worker did not report it");
}

TEST(ModeMetrics, CensusOfTheModesOwnRepresentation) {
  auto cell = cell_of("torchscript");
  auto rank = rank_of(cell);
  rank.detail["ir_census"] = {{{"ir", "torchscript.raw"}, {"nodes", 900}, {"memory_mib", 9}},
                              {{"ir", "torchscript.optimised"}, {"nodes", 300}, {"rss_mib", 4.5}}};
  auto record = summary_of(cell, {rank});
  EXPECT_DOUBLE_EQ(value(record, "ir_nodes"), 300);
  EXPECT_DOUBLE_EQ(value(record, "ir_memory"), 4.5);
  EXPECT_EQ(record.detail.at("ir_census").size(), 2u);
  rank.detail["ir_census"][1] = {{"ir", "torchscript.optimised"}, {"absent", "the executor gave no plan"}};
  EXPECT_EQ(absent(summary_of(cell, {rank}), "ir_nodes"), "torchscript.optimised: the executor gave no plan");
  rank.detail.erase("ir_census");
  EXPECT_THAT(absent(summary_of(cell, {rank}), "ir_nodes"), HasSubstr("measure.ir_census"));
}

TEST(ModeMetrics, APeakIsNeverBelowThePoolsOfCapturedGraphs) {
  const auto cell = cell_of("compile.reduce-overhead");
  auto rank = rank_of(cell);
  rank.detail["memory_inside"] = {{"graph_pools_mib", 11000}};
  const auto record = summary_of(cell, {rank});
  EXPECT_DOUBLE_EQ(value(record, "graph_pools"), 11000);
  EXPECT_DOUBLE_EQ(value(record, "peak_memory"), 11000);
  EXPECT_DOUBLE_EQ(value(record, "peak_active"), 11000);
  EXPECT_DOUBLE_EQ(value(record, "fragmentation"), 100 * (1 - 11000.0 / 16000));
  rank.detail.erase("memory_inside");  // another worker, say
  const auto unknown = summary_of(cell, {rank});
  for (const auto* name : {"peak_memory", "peak_active", "fragmentation"})
    EXPECT_THAT(absent(unknown, name), HasSubstr("does not say what the pools")) << name;
}

TEST(ModeMetrics, Fp8HasARateAndNoShareOfAPeak) {
  auto cell = cell_of("eager");
  cell.precision = "fp8";
  const auto record = summary_of(cell, {rank_of(cell)});
  EXPECT_DOUBLE_EQ(value(record, "tflops"), 400);
  EXPECT_THAT(absent(record, "mfu"), HasSubstr("fp8 has no MFU"));
}

TEST(ModeMetrics, NonsenseInTheFreePartsIsUnknownAndNoCrash) {
  const auto cell = cell_of("compile.default");
  for (const Json& nonsense : {Json("text"), Json(3), Json::array({1, "a", nullptr}), Json(nullptr)}) {
    auto rank = rank_of(cell);
    for (const char* key : {"compile", "checkpoint", "parity", "ir_census", "memory_inside"})
      rank.detail[key] = nonsense;
    rank.detail.erase("memory_inside");
    EXPECT_EQ(summary_of(cell, {rank}).status, Status::ok) << nonsense;
    rank.detail["compile"] = {{"recompiles", nonsense}, {"caches", nonsense}, {"captures", nonsense}};
    EXPECT_THAT(summary_of(cell, {rank}).status, testing::AnyOf(Status::ok, Status::ineffective)) << nonsense;
  }
}

TEST(LateCompilation, ARecompileBehindTheWarmUpIsUnsteadyAndNamesItsGuard) {
  const auto cell = cell_of("compile.default");
  auto rank = rank_of(cell);
  rank.detail["compile"]["recompiles"] = {
      {{"function", "forward"}, {"file", "twin.py"}, {"line", 12}, {"guard", "early"}},
      {{"function", "forward"}, {"file", "twin.py"}, {"line", 12}, {"guard", "x.size()[0] == 32"}, {"late", true}}};
  const auto record = summary_of(cell, {rank});
  EXPECT_EQ(record.status, Status::unsteady);
  EXPECT_THAT(record.reason, HasSubstr("forward at twin.py:12, guard: x.size()[0] == 32"));
  EXPECT_TRUE(compiled_late(record));
}

TEST(LateCompilation, ALateCaptureIsUnsteadyAndAnEarlyOneIsNot) {
  const auto cell = cell_of("compile.reduce-overhead", 2);
  auto late = rank_of(cell, 1);
  late.detail["compile"]["captures_late"] = 2;
  const auto record = summary_of(cell, {rank_of(cell), late});
  EXPECT_EQ(record.status, Status::unsteady);
  EXPECT_THAT(record.reason, StartsWith("rank 1: 2 graph captures behind the warm-up"));
  EXPECT_EQ(summary_of(cell, {rank_of(cell), rank_of(cell, 1)}).status, Status::ok);
}

TEST(LateCompilation, ADisturbanceDoesNotExplainIt) {
  const auto cell = cell_of("compile.default");
  auto rank = rank_of(cell);
  rank.detail["compile"]["captures_late"] = 1;
  LaunchFacts facts;
  facts.ranks = {rank};
  facts.health.emplace();
  facts.health->devices.emplace_back();
  facts.health->devices[0].xids = {XidEvent{1.0, 79}};
  const auto record = summarise(cell, facts);
  EXPECT_EQ(record.status, Status::unsteady);
  EXPECT_TRUE(compiled_late(record));
}

TEST(LateCompilation, AnotherUnsteadyLaunchIsNotTakenForIt) {
  const auto cell = cell_of("eager");
  auto rank = rank_of(cell);
  for (std::size_t i = 40; i < rank.step_ms.size(); ++i) rank.step_ms[i] *= 1.5;
  const auto record = summary_of(cell, {rank});
  EXPECT_EQ(record.status, Status::unsteady);
  EXPECT_FALSE(compiled_late(record));
}

TEST(Parity, TheWorstRankIsKeptAndADisagreementIsIncorrect) {
  const auto cell = cell_of("eager", 2);
  auto good = rank_of(cell), bad = rank_of(cell, 1);
  good.detail["parity"] = {{"reference", "eager fp64"}, {"loss", {{"error", 1e-6}}}, {"agrees", true}};
  bad.detail["parity"] = {{"reference", "eager fp64"}, {"loss", {{"error", 1e-3}}}, {"agrees", true}};
  auto record = summary_of(cell, {good, bad});
  EXPECT_EQ(record.status, Status::ok) << record.reason;
  EXPECT_DOUBLE_EQ(value(record, "loss_error"), 1e-3);
  EXPECT_EQ(record.detail.at("parity"), bad.detail.at("parity"));
  good.detail["parity"]["agrees"] = false;
  good.detail["parity"]["first_difference"] = "step 1: loss 2.3 against 2.1";
  record = summary_of(cell, {good, bad});
  EXPECT_EQ(record.status, Status::incorrect);
  EXPECT_THAT(record.reason, HasSubstr("eager fp64 reference: step 1: loss 2.3 against 2.1"));
  EXPECT_EQ(record.detail.at("parity"), good.detail.at("parity"));
  good.detail["parity"] = {{"absent", "no memory for the reference"}};
  EXPECT_EQ(absent(summary_of(cell, {good, bad}), "loss_error"), "no memory for the reference");
}

Status checkpoint_status(const Json& checkpoint, std::string* reason = nullptr) {
  auto cell = cell_of("eager");
  cell.checkpointing = "full";
  auto rank = rank_of(cell);
  rank.detail["checkpoint"] = checkpoint;
  const auto record = summary_of(cell, {rank});
  if (reason != nullptr) *reason = record.reason;
  EXPECT_EQ(record.detail.at("checkpoint"), checkpoint);
  return record.status;
}

TEST(Effective, CheckpointingWithoutARecomputedBlockIsIneffective) {
  std::string reason;
  EXPECT_EQ(checkpoint_status({{"blocks", 10}, {"recomputed_blocks_per_step", 0}}, &reason), Status::ineffective);
  EXPECT_EQ(reason, "checkpointing full: no block was recomputed");
  EXPECT_EQ(checkpoint_status({{"blocks", 10}, {"recomputed_blocks_per_step", 10}}), Status::ok);
  EXPECT_EQ(checkpoint_status({{"blocks", 10}, {"recomputed_blocks_per_step", nullptr}}), Status::ok) << "unknown";
}

TEST(Effective, ASelectivePolicyThatNobodyAskedIsIneffective) {
  auto cell = cell_of("compile.default");
  cell.checkpointing = "selective";
  cell.ddp.ranks = 2;
  auto rank = rank_of(cell);
  rank.detail["checkpoint"] = {{"blocks", 10}, {"recomputed_blocks_per_step", nullptr}};
  auto other = rank;
  other.rank = 1;
  EXPECT_EQ(summary_of(cell, {rank, other}).status, Status::ok) << "unknown";
  rank.detail["settings"]["used"]["selective_choices"] = 20;
  EXPECT_EQ(summary_of(cell, {rank, other}).status, Status::ok);
  other.detail["settings"]["used"]["selective_choices"] = 0;
  const auto record = summary_of(cell, {rank, other});
  EXPECT_EQ(record.status, Status::ineffective);
  EXPECT_NE(record.reason.find("nobody asked which results to keep"), std::string::npos) << record.reason;
  EXPECT_NE(record.reason.find("ddp_optimizer: false"), std::string::npos) << record.reason;
}

std::string cache_reason(const char* asked, const Json& caches) {
  auto cell = cell_of("compile.default");
  cell.cache = asked;
  auto rank = rank_of(cell);
  rank.detail["compile"]["caches"] = caches;
  const auto record = summary_of(cell, {rank});
  EXPECT_EQ(record.status == Status::ineffective, !record.reason.empty());
  return record.reason;
}

TEST(Effective, CachesAreAsColdOrWarmAsAsked) {
  EXPECT_THAT(cache_reason("cold", {{"entries_before", 0}, {"hits", 0}, {"misses", 4}}), IsEmpty());
  EXPECT_THAT(cache_reason("cold", {{"entries_before", 7}, {"hits", 4}, {"misses", 0}}),
              HasSubstr("cache cold: 7 entries before the launch, expected 0"));
  EXPECT_THAT(cache_reason("warm", {{"entries_before", 7}, {"hits", 4}, {"misses", 0}}), IsEmpty());
  EXPECT_THAT(cache_reason("warm", {{"entries_before", 7}, {"hits", 1}, {"misses", 3}}), IsEmpty());
  EXPECT_THAT(cache_reason("warm", {{"entries_before", 7}, {"hits", 0}, {"misses", 3}}),
              HasSubstr("cache warm: no hit and 3 misses"));
  EXPECT_THAT(cache_reason("warm", {{"hits", 0}, {"misses", 0}}), IsEmpty()) << "nobody counted";
}

TEST(Effective, AModeThatCompiledNothingIsIneffective) {
  const auto cell = cell_of("compile.default");
  auto rank = rank_of(cell);
  rank.detail["compile"]["captures"] = 0;
  rank.detail["compile"]["graph_nodes"] = 0;
  const auto record = summary_of(cell, {rank});
  EXPECT_EQ(record.status, Status::ineffective);
  EXPECT_THAT(record.reason,
              HasSubstr("compile: asked compile.default, set compile.default, used no graph was compiled"));
}

/// Steps of 100 ms that hold one kernel, in the launch of a CUDA graph or by itself.
trace::RankTimeline timeline(bool graphs) {
  trace::RankTimeline out;
  for (int i = 0; i < 4; ++i) {
    trace::test::add_step(out, {i * 100 * ms, (i + 1) * 100 * ms});
    auto& activity = trace::test::add(out, {i * 100 * ms, i * 100 * ms + 90 * ms}, "kernel");
    activity.correlation = static_cast<std::uint32_t>(i + 1);
    activity.graph_node = graphs ? 17 : 0;
    out.event_step_ms.push_back(100);
  }
  return out;
}

TEST(Effective, AModeOfCudaGraphsHasToLaunchThem) {
  const auto cell = cell_of("cuda_graph");
  auto record = summary_of(cell, {rank_of(cell)}, {timeline(true)});
  EXPECT_EQ(record.status, Status::ok) << record.reason;
  EXPECT_EQ(record.detail.at("settings").at("compile").at("used"), "CUDA graphs launched 4 times in 4 traced steps");
  record = summary_of(cell, {rank_of(cell)}, {timeline(false)});
  EXPECT_EQ(record.status, Status::ineffective);
  EXPECT_EQ(record.reason, "compile cuda_graph: no launch of a CUDA graph in 4 traced steps");
  const auto other = cell_of("compile.default");
  EXPECT_EQ(summary_of(other, {rank_of(other)}, {timeline(false)}).status, Status::ok);
  EXPECT_EQ(summary_of(cell, {rank_of(cell)}).status, Status::ok) << "no trace: unknown";
}

TEST(Effective, KinetoTellsOfCudaGraphsByTheHostsCallsAlone) {
  const auto cell = cell_of("compile.reduce-overhead");
  auto of_kineto = timeline(false);
  for (const auto& activity : of_kineto.activities) {
    const auto correlation = activity.correlation;
    trace::test::add_call(of_kineto, activity.time, "cudaGraphLaunch", correlation);
  }
  const auto record = summary_of(cell, {rank_of(cell)}, {of_kineto});
  EXPECT_EQ(record.status, Status::ok) << record.reason;
  EXPECT_EQ(record.detail.at("settings").at("compile").at("used"), "CUDA graphs launched 4 times in 4 traced steps");
}

TEST(Effective, Fp8IsSeenInScaledProducts) {
  auto cell = cell_of("eager");
  cell.precision = "fp8";
  auto rank = rank_of(cell);
  const auto with = [&](const Json& types) {
    rank.detail["settings"] = {{"set", {{"autocast", nullptr}}}, {"used", {{"operator_types", types}}}};
    return summary_of(cell, {rank}).reason;
  };
  EXPECT_THAT(with({{"aten::_scaled_mm", {{"Float8_e4m3fn", 21}}}, {"aten::mm", {{"BFloat16", 40}}}}), IsEmpty());
  EXPECT_THAT(with({{"aten::mm", {{"BFloat16", 40}}}}), HasSubstr("precision: asked fp8"));
}

TEST(Visibility, IsKeptWithTheLaunch) {
  const auto cell = cell_of("eager");
  const auto record = summary_of(cell, {rank_of(cell)}, {timeline(false)});
  EXPECT_EQ(record.detail.at("visibility").at("forward").at("located"), false);
  EXPECT_FALSE(summary_of(cell, {rank_of(cell)}).detail.contains("visibility"));
}

}  // namespace
}  // namespace stepgauge::summary
