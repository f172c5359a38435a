// How ranks are placed, reduce and compress: how it is written, what is refused, and which values are the same cell.
#include "contract/cell.hpp"

#include "support.hpp"

namespace stepgauge::config {
namespace {

Cell cell_of(const std::string& ddp, const std::string& device = "cuda") {
  return suite_of("defaults: {workload: resnet18, device: " + device + ", ddp: {" + ddp + "}}\n").cells.at(0);
}

/// The one cell of an axis value over defaults.
CellDdp over(const std::string& defaults, const std::string& value) {
  return suite_of("defaults: {workload: resnet18, device: cpu, ddp: {" + defaults + "}}\naxes: {ddp: [" + value +
                  "]}\n")
      .cells.at(0)
      .ddp;
}

std::string text_of(const std::string& ddp, const std::string& device = "cuda") {
  const auto id = cell_of(ddp, device).id;
  return id.substr(id.rfind('/') + 1, id.rfind('-') - id.rfind('/') - 1);
}

TEST(Placement, TwoOfThreeNumbersGiveTheThird) {
  EXPECT_EQ(cell_of("nodes: 2, ranks_per_node: 4").ddp.ranks, 8);
  EXPECT_EQ(cell_of("ranks: 8, ranks_per_node: 4").ddp.nodes, 2);
  EXPECT_EQ(cell_of("ranks: 8, nodes: 2").ddp.nodes, 2);
  EXPECT_EQ(cell_of("nodes: 2, ranks_per_node: 4").id, cell_of("ranks: 8, nodes: 2").id);
  EXPECT_EQ(cell_of("ranks: 8, nodes: 1").id, cell_of("ranks: 8").id);
}

TEST(Placement, NumbersOfTheDefaultsNeverContradictAValue) {
  const auto wide = over("ranks: 2", "{nodes: 2, ranks_per_node: 3}");
  EXPECT_EQ(wide.ranks, 6);
  EXPECT_EQ(wide.nodes, 2);
  EXPECT_EQ(over("nodes: 2, ranks_per_node: 2", "{ranks: 8}").ranks, 8);
  EXPECT_EQ(over("nodes: 2, ranks_per_node: 2", "{ranks: 8}").nodes, 2);
  EXPECT_EQ(over("ranks: 4", "{nodes: 2}").ranks, 4);
}

TEST(Placement, WhatDoesNotDivideIsAnError) {
  expect_error("defaults: {workload: resnet18, ddp: {ranks: 3, nodes: 2}}\n", "3:55",
               {"3 ranks do not divide among 2 nodes"});
  expect_error("defaults: {workload: resnet18, ddp: {ranks: 4, nodes: 2, ranks_per_node: 3}}\n", "3:55",
               {"2 nodes of 3 ranks are not 4 ranks"});
  expect_error("defaults: {workload: resnet18, ddp: {ranks: 3, ranks_per_node: 2}}\n", "3:64", {"are not 3 ranks"});
}

TEST(Transports, AreSettingsOfNcclAndOfSeveralRanks) {
  EXPECT_EQ(text_of("ranks: 2, transport: nvlink, interface: eth0, algorithm: tree, protocol: ll128, channels: 4"),
            "cuda.ddp2.nvlink.eth0.tree.ll128.ch4");
  for (const auto* key : {"algorithm: ring", "protocol: simple", "channels: 2", "topology_file: t.xml"})
    expect_error("defaults: {workload: resnet18, device: cpu, ddp: {ranks: 2, " + std::string(key) + "}}\n",
                 "3:" + std::to_string(62 + std::string(key).find(' ')), {"a setting of nccl", "\"gloo\""});
  for (const auto* key : {"algorithm: ring", "interface: lo", "hook: bf16", "overlap: none", "oversubscribe: true"})
    expect_error("axes: {ddp: [{ranks: 1, " + std::string(key) + "}]}\n",
                 "3:" + std::to_string(26 + std::string(key).find(' ')), {"needs at least 2 ranks"});
  EXPECT_EQ(over("hook: bf16, interface: lo", "1").hook, "");  // what the defaults say of several ranks
}

TEST(Transports, ABackendHasItsDevice) {
  EXPECT_EQ(text_of("ranks: 2, backend: mpi", "cpu"), "cpu.ddp2.mpi");
  expect_error("defaults: {workload: resnet18, ddp: {ranks: 2, backend: mpi}}\n", "3:57",
               {"\"mpi\" is for device cpu"});
  expect_error("defaults: {workload: resnet18, ddp: {ranks: 2, backend: gloo}}\n", "3:57",
               {"a cuda cell has \"nccl\""});
}

TEST(Transports, AnInterfaceIsAName) {
  for (const auto* name : {"\"a b\"", "\"\"", "a/b", "\"eth0,eth1\"", "\"^lo\"", "longer_than_linux_takes"})
    expect_error("defaults: {workload: resnet18, ddp: {ranks: 2, interface: " + std::string(name) + "}}\n", "3:59",
                 {"the name of a network interface"});
}

TEST(Hooks, TakeANameOrAMap) {
  EXPECT_EQ(cell_of("ranks: 2, hook: {name: top_k, share: 30%}").ddp.hook_share, 0.3);
  EXPECT_EQ(cell_of("ranks: 2, hook: {name: power_sgd, rank: 4, error_feedback: false}").ddp.hook_rank, 4);
  EXPECT_EQ(text_of("ranks: 2, hook: {name: top_k_fp8, share: 0.3}"), "cuda.ddp2.top_k_fp8_30%");
  EXPECT_EQ(text_of("ranks: 2, hook: {name: power_sgd, error_feedback: false}"), "cuda.ddp2.power_sgd_r1.no_feedback");
  EXPECT_EQ(cell_of("ranks: 2, hook: none").id, cell_of("ranks: 2").id);
  EXPECT_EQ(over("ranks: 2, hook: {name: top_k, share: 30%}", "{hook: bf16}").hook_share, CellDdp{}.hook_share);
}

TEST(Hooks, ASettingOfAnotherHookIsAnError) {
  expect_error("axes: {ddp: [{ranks: 2, hook: {name: bf16, share: 3%}}]}\n", "3:51",
               {"a setting of top_k and top_k_fp8"});
  expect_error("axes: {ddp: [{ranks: 2, hook: {name: top_k, rank: 3}}]}\n", "3:51", {"a setting of power_sgd"});
  expect_error("axes: {ddp: [{ranks: 2, hook: {name: fp8, error_feedback: true}}]}\n", "3:59", {"power_sgd"});
  expect_error("axes: {ddp: [{ranks: 2, hook: {name: top_k, share: 0}}]}\n", "3:52", {"above 0 %"});
  expect_error("axes: {ddp: [{ranks: 2, hook: topk}]}\n", "3:31", {"unknown value \"topk\"", "\"top_k\""});
}

TEST(Overlap, IsOneOfTheStrategies) {
  EXPECT_EQ(accumulation_steps(cell_of("ranks: 2, overlap: ddp_no_sync_4").ddp.overlap), 4);
  EXPECT_EQ(accumulation_steps("ddp"), 1);
  EXPECT_EQ(text_of("ranks: 2, overlap: none"), "cuda.ddp2.no_overlap");
  EXPECT_EQ(cell_of("ranks: 2, overlap: ddp").id, cell_of("ranks: 2").id);
  expect_error("axes: {ddp: [{ranks: 2, overlap: ddp_no_sync_9}]}\n", "3:34", {"unknown value \"ddp_no_sync_9\""});
}

TEST(OneSlowRank, IsPartOfTheCell) {
  const std::string slow = "defaults: {workload: resnet18, ddp: 2, perturb: {step_percent: 50, rank: ";
  const auto cell = suite_of(slow + "1}}\n").cells.at(0);
  EXPECT_EQ(cell.perturb.rank, 1);
  EXPECT_THAT(cell.id, testing::HasSubstr("PERTURBED.step+50%@rank1"));
  EXPECT_EQ(cell_from_json(to_json(cell), "t").perturb.rank, 1);
  expect_error(slow + "2}}\n", "3:74", {"a rank below 2"});
  expect_error("defaults: {workload: resnet18, ddp: 2, perturb: {extra_memory_mib: 5, rank: 1}}\n", "3:77",
               {"neither is here"});
}

TEST(StallAlarm, IsAShareInPercent) {
  EXPECT_EQ(suite_of("defaults: {workload: resnet18}\n").cells.at(0).stall_alarm, 35);
  EXPECT_EQ(suite_of("stall_alarm: 20%\ndefaults: {workload: resnet18}\n").cells.at(0).stall_alarm, 20);
  EXPECT_EQ(suite_of("stall_alarm: 0\ndefaults: {workload: resnet18}\n").cells.at(0).stall_alarm, 0);
  expect_error("stall_alarm: 120%\n", "3:14", {"stall_alarm"});
}

TEST(Ddp, EveryFieldSurvivesTheDocument) {
  const auto cell = cell_of(
      "ranks: 4, nodes: 2, oversubscribe: true, transport: nvlink, interface: eth0, algorithm: ring, protocol: ll, "
      "channels: 8, topology_file: a.xml, overlap: reduce_last, hook: {name: top_k, share: 5%, error_feedback: false}");
  const auto read = cell_from_json(to_json(cell), "t");
  EXPECT_EQ(to_json(read), to_json(cell));
  auto again = read;
  assign_identity(again);
  EXPECT_EQ(again.id, cell.id);
}

}  // namespace
}  // namespace stepgauge::config
