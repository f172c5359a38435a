// The suites that ship under configs/ must load, and be what the demo and the documentation say.
#include <map>
#include <set>

#include "support.hpp"

namespace stepgauge::config {
namespace {

std::filesystem::path configs() {
  const char* root = std::getenv("STEPGAUGE_SOURCE_DIR");
  return std::filesystem::path(root == nullptr ? "." : root) / "configs";
}

TEST(Presets, AllLoad) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(configs())) {
    const auto extension = entry.path().extension();
    if (extension != ".yaml" && extension != ".json") continue;
    ++count;
    EXPECT_FALSE(load_suite(entry.path()).cells.empty()) << entry.path();
  }
  EXPECT_GE(count, 3);
}

TEST(Presets, SmokeRunsOnTheCpuAlone) {
  const auto suite = load_suite(configs() / "smoke.yaml");
  EXPECT_EQ(suite.cells.size(), 6u);
  for (const auto& cell : suite.cells) {
    EXPECT_EQ(cell.device, "cpu");
    EXPECT_EQ(cell.needs.gpus, 0);
    EXPECT_EQ(cell.launches, 3);
    EXPECT_EQ(cell.measure.steps, 40);
    EXPECT_EQ(cell.limits.launch_s, 120);
    EXPECT_EQ(cell.tolerance.at("throughput").relative, 0.5);
  }
}

TEST(Presets, FirstReferenceHoldsBothModelsAndTheirPeers) {
  const auto suite = load_suite(configs() / "h200_first.yaml");
  EXPECT_EQ(suite.cells.size(), 16u);
  int peers = 0;
  for (const auto& cell : suite.cells) {
    peers += cell.worker == "peer" ? 1 : 0;
    EXPECT_EQ(cell.needs.gpus, cell.ddp.ranks);
    const bool llama = cell.workload.name == "llama.1.1b";
    EXPECT_EQ(cell.batch, llama ? 8 : 256);
    EXPECT_EQ(cell.measure.steps, llama ? 30 : 50);
    EXPECT_EQ(cell.memory_format, llama ? "contiguous" : "channels_last");
    EXPECT_EQ(cell.workload.sizes.at(llama ? "sequence" : "image"), llama ? 2048 : 224);
  }
  EXPECT_EQ(peers, 4);
}

TEST(Presets, EveryModeHasItsCellsColdAndWarm) {
  const auto suite = load_suite(configs() / "a01_compile_modes.yaml");
  std::map<std::string, int> cells;
  for (const auto& cell : suite.cells) {
    EXPECT_EQ(unsupported_reason(cell), "") << cell.id;
    if (cell.worker == "stepgauge" && cell.ddp.ranks == 1 && cell.workload.name != "resnet18") ++cells[cell.compile];
  }
  ASSERT_EQ(cells.size(), known_compile_modes().size());
  for (const auto& [mode, count] : cells) EXPECT_EQ(count, has_compile_caches(mode) ? 4 : 2) << mode;
}

TEST(Presets, CompilingOnACpuNeedsNoMoreThanTheCpuHas) {
  const auto suite = load_suite(configs() / "compile_cpu.yaml");
  std::set<std::string> modes, checkpointing;
  for (const auto& cell : suite.cells) {
    EXPECT_EQ(cell.device, "cpu");
    EXPECT_EQ(unsupported_reason(cell), "") << cell.id;
    modes.insert(cell.compile + "." + cell.cache);
    checkpointing.insert(cell.checkpointing);
  }
  EXPECT_THAT(modes, testing::ElementsAre("compile.default.cold", "compile.default.warm", "eager.", "python_eager.",
                                          "torchscript."));
  EXPECT_EQ(checkpointing.size(), 4u);
}

TEST(Presets, OnlyConvolutionsInFp8CannotBe) {
  for (const auto* name :
       {"a02_ir_census", "a04_checkpointing", "a06_visibility", "a08_graph_snapshots", "precision"}) {
    for (const auto& cell : load_suite(configs() / (std::string(name) + ".yaml")).cells) {
      const bool impossible = is_fp8(cell.precision) && cell.workload.family == "resnet";
      EXPECT_EQ(unsupported_reason(cell).empty(), !impossible) << cell.id;
    }
  }
}

TEST(Presets, TheGateHasEightCellsOfEachKind) {
  const auto suite = load_suite(configs() / "pr_gate.yaml");
  EXPECT_EQ(suite.cells.size(), 8u);
  std::map<std::string, int> workloads, modes;
  std::map<int, int> ranks;
  for (const auto& cell : suite.cells) {
    ++workloads[cell.workload.name];
    ++modes[cell.compile];
    ++ranks[cell.ddp.ranks];
    EXPECT_EQ(cell.needs.gpus, cell.ddp.ranks);
    EXPECT_EQ(cell.measure.parity_steps, 2);
  }
  using testing::Pair;
  EXPECT_THAT(workloads, testing::ElementsAre(Pair("llama.1.1b", 5), Pair("resnet50", 3)));
  EXPECT_THAT(modes, testing::ElementsAre(Pair("compile.default", 1), Pair("cuda_graph", 3), Pair("eager", 4)));
  EXPECT_THAT(ranks, testing::ElementsAre(Pair(1, 5), Pair(2, 3)));
}

TEST(Presets, OneGpuIsGatedByAsManyCellsOfWhichFiveAreTheSame) {
  std::set<std::string> of_two;
  for (const auto& cell : load_suite(configs() / "pr_gate.yaml").cells) of_two.insert(cell.id);
  const auto suite = load_suite(configs() / "pr_gate_one_gpu.yaml");
  EXPECT_EQ(suite.cells.size(), 8u);
  int same = 0;
  for (const auto& cell : suite.cells) {
    EXPECT_EQ(cell.needs.gpus, 1) << cell.id;
    EXPECT_EQ(cell.measure.parity_steps, 2);
    same += of_two.contains(cell.id) ? 1 : 0;
  }
  EXPECT_EQ(same, 5);
}

TEST(Presets, WhatRanksOfOneGpuDoIsWhatRanksOfTwoDo) {
  for (const std::string name : {"a09", "a13"}) {
    const auto of_two = load_suite(configs() / (name == "a09" ? "a09_replay.yaml" : "a13_compression.yaml"));
    const auto of_one = load_suite(configs() / (name + "_one_gpu.yaml"));
    ASSERT_EQ(of_one.cells.size(), of_two.cells.size()) << name;
    for (std::size_t i = 0; i < of_one.cells.size(); ++i) {
      const auto& cell = of_one.cells[i];
      EXPECT_TRUE(cell.ddp.oversubscribe) << cell.id;
      EXPECT_EQ(cell.needs.gpus, 1) << cell.id;
      EXPECT_EQ(unsupported_reason(cell), "") << cell.id;
      EXPECT_EQ(cell.ddp.hook, of_two.cells[i].ddp.hook) << cell.id;
      EXPECT_EQ(cell.ddp.transport, of_two.cells[i].ddp.transport) << cell.id;
    }
  }
}

TEST(Presets, NothingOfTheGateTheNightOrTheSelftestIsImpossible) {
  for (const auto* name : {"pr_gate", "pr_gate_one_gpu", "nightly", "selftest_cpu", "selftest_gpu"}) {
    for (const auto& cell : load_suite(configs() / (std::string(name) + ".yaml")).cells)
      EXPECT_EQ(unsupported_reason(cell), "") << cell.id;
  }
}

TEST(Presets, GpuDemoIsSmall) {
  const auto suite = load_suite(configs() / "demo_gpu.yaml");
  EXPECT_EQ(suite.cells.size(), 4u);
  for (const auto& cell : suite.cells) EXPECT_EQ(cell.needs.gpus, cell.ddp.ranks);
}

}  // namespace
}  // namespace stepgauge::config
