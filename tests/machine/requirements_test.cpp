#include <gtest/gtest.h>

#include "machine/link_rate.hpp"
#include "machine/machine.hpp"

namespace stepgauge::machine {
namespace {

Machine machine_with(int gpus) {
  Machine machine;
  machine.memory_gib = 15.5;
  for (int i = 0; i < gpus; ++i) {
    Gpu gpu;
    gpu.index = i;
    gpu.name = "A100";
    gpu.memory_mib = 40 * 1024;
    gpu.compute_capability = 8.0;
    machine.gpus.push_back(gpu);
    for (int j = 0; j < i; ++j) machine.links.push_back({j, i, j == 0 && i == 1 ? "nvlink" : "pcie.host_bridge", 0});
  }
  if (gpus == 0) machine.gpus_absent = "no driver";
  return machine;
}

Cell cell_on(const std::string& device, int ranks) {
  Cell cell;
  cell.device = device;
  cell.ddp.ranks = ranks;
  cell.ddp.backend = device == "cuda" ? "nccl" : "gloo";
  return cell;
}

TEST(Requirement, GpusAreCountedOnEachHost) {
  auto cell = cell_on("cuda", 4);
  EXPECT_EQ(unmet_requirement(cell, machine_with(2)), "needs 4 GPUs, 2 here");
  cell.ddp.nodes = 2;
  EXPECT_EQ(unmet_requirement(cell, machine_with(2)), std::nullopt);
  cell.ddp.nodes = 1;
  cell.ddp.oversubscribe = true;
  EXPECT_EQ(unmet_requirement(cell, machine_with(2)), std::nullopt);
}

TEST(Requirement, CpuCellsRunAnywhere) {
  EXPECT_EQ(unmet_requirement(cell_on("cpu", 4), machine_with(0)), std::nullopt);
  auto nccl = cell_on("cpu", 2);
  nccl.ddp.backend = "nccl";
  EXPECT_EQ(unmet_requirement(nccl, machine_with(2)),
            "backend nccl needs a GPU for each rank, the cell's device is cpu");
}

TEST(Requirement, RanksNeedGpus) {
  EXPECT_EQ(unmet_requirement(cell_on("cuda", 1), machine_with(0)), "needs 1 GPU, none here (no driver)");
  EXPECT_EQ(unmet_requirement(cell_on("cuda", 2), machine_with(1)), "needs 2 GPUs, 1 here");
  EXPECT_EQ(unmet_requirement(cell_on("cuda", 2), machine_with(2)), std::nullopt);
  EXPECT_EQ(unmet_requirement(cell_on("cuda", 2), machine_with(2), {0}), "needs 2 GPUs, 1 given to it");
  EXPECT_EQ(unmet_requirement(cell_on("cuda", 1), machine_with(2), {3}), "needs GPU 3, 2 here");
  auto more = cell_on("cuda", 1);
  more.needs.gpus = 4;
  EXPECT_EQ(unmet_requirement(more, machine_with(2)), "needs 4 GPUs, 2 here");
}

TEST(Requirement, MemoryAndCapabilityAreComparedWithNumbers) {
  auto cell = cell_on("cuda", 1);
  cell.needs.gpu_memory_gib = 80;
  EXPECT_EQ(unmet_requirement(cell, machine_with(1)), "needs 80 GiB of GPU memory, GPU 0 (A100) has 40.0");
  cell.needs.gpu_memory_gib = 40;
  EXPECT_EQ(unmet_requirement(cell, machine_with(1)), std::nullopt);
  cell.needs.compute_capability = 9.0;
  EXPECT_EQ(unmet_requirement(cell, machine_with(1)), "needs compute capability 9.0, GPU 0 (A100) has 8.0");
  cell.needs.compute_capability = 8.0;
  EXPECT_EQ(unmet_requirement(cell, machine_with(1)), std::nullopt);
  cell.needs.memory_gib = 64;
  EXPECT_EQ(unmet_requirement(cell, machine_with(1)), "needs 64 GiB of memory, 15.5 here");
  auto cpu = cell_on("cpu", 1);
  cpu.needs.memory_gib = 64;
  EXPECT_TRUE(unmet_requirement(cpu, machine_with(0)));
}

TEST(Requirement, Fp8NeedsADeviceWithFp8Products) {
  auto cell = cell_on("cuda", 1);
  for (const auto* precision : {"fp8", "fp8_delayed"}) {
    cell.precision = precision;
    EXPECT_EQ(unmet_requirement(cell, machine_with(1)), "needs compute capability 8.9 for fp8, GPU 0 (A100) has 8.0");
  }
  auto newer = machine_with(1);
  newer.gpus[0].compute_capability = 8.9;
  EXPECT_EQ(unmet_requirement(cell, newer), std::nullopt);
}

TEST(Requirement, TheLinkIsThatOfTheCellsOwnPair) {
  auto cell = cell_on("cuda", 2);
  cell.needs.link = "nvlink";
  EXPECT_EQ(unmet_requirement(cell, machine_with(4)), std::nullopt);
  EXPECT_EQ(unmet_requirement(cell, machine_with(4), {2, 3}),
            "needs nvlink between GPUs 2 and 3, found pcie.host_bridge");
  EXPECT_EQ(unmet_requirement(cell, machine_with(4), {3, 1}),
            "needs nvlink between GPUs 1 and 3, found pcie.host_bridge");
  cell.ddp.ranks = 1;
  EXPECT_EQ(unmet_requirement(cell, machine_with(1)), std::nullopt);
}

TEST(Requirement, NvlinkAsATransportNeedsTheLink) {
  auto cell = cell_on("cuda", 2);
  cell.ddp.transport = "nvlink";
  EXPECT_EQ(unmet_requirement(cell, machine_with(4)), std::nullopt);
  EXPECT_EQ(unmet_requirement(cell, machine_with(4), {2, 3}),
            "needs nvlink between GPUs 2 and 3 (ddp.transport nvlink), found pcie.host_bridge");
}

TEST(Requirement, AnInterfaceThatIsNotHereIsToldWithThoseThatAre) {
  auto cell = cell_on("cpu", 2);
  auto machine = machine_with(0);
  machine.interfaces = {"eth0", "lo"};
  cell.ddp.interface = "eth1";
  EXPECT_EQ(unmet_requirement(cell, machine), "needs network interface eth1; here: eth0, lo");
  cell.ddp.interface = "lo";
  EXPECT_EQ(unmet_requirement(cell, machine), std::nullopt);
  machine.interfaces.clear();
  EXPECT_EQ(unmet_requirement(cell, machine), "needs network interface lo; here: none");
}

TEST(Requirement, ATopologyFileMustBeThere) {
  auto cell = cell_on("cuda", 2);
  cell.ddp.topology_file = "/nowhere/topo.xml";
  EXPECT_EQ(unmet_requirement(cell, machine_with(2)),
            "needs the topology file /nowhere/topo.xml, there is no such file");
  cell.ddp.topology_file = "/proc/self/status";
  EXPECT_EQ(unmet_requirement(cell, machine_with(2)), std::nullopt);
}

TEST(Requirement, RanksShareDevicesOnlyWhereTheCellSaysSo) {
  auto cell = cell_on("cuda", 4);
  EXPECT_EQ(unmet_requirement(cell, machine_with(2)), "needs 4 GPUs, 2 here");
  cell.ddp.oversubscribe = true;
  EXPECT_EQ(unmet_requirement(cell, machine_with(2)), std::nullopt);
  EXPECT_EQ(unmet_requirement(cell, machine_with(2), {1}), std::nullopt);
  EXPECT_EQ(unmet_requirement(cell, machine_with(0)), "needs 1 GPU, none here (no driver)");
  cell.ddp.transport = "p2p";
  EXPECT_EQ(unmet_requirement(cell, machine_with(2)),
            "4 ranks on 2 GPUs reach each other through sockets alone, not by ddp.transport p2p");
}

TEST(LinkRate, WhatLinksShouldGive) {
  auto machine = machine_with(3);
  for (auto& gpu : machine.gpus) gpu.compute_capability = 9.0;
  const auto nvlink = link_rate(machine, {0, 1, "nvlink", 18});
  EXPECT_EQ(nvlink.text, "NVLink 4, 18 links");
  EXPECT_EQ(nvlink.gbps, 450);
  EXPECT_EQ(link_rate(machine, {0, 1, "nvlink", 0}).gbps, std::nullopt);
  machine.gpus[0].pcie_generation = 5;
  machine.gpus[2].pcie_generation = 4;
  machine.gpus[0].pcie_width = machine.gpus[2].pcie_width = 16;
  const auto pcie = link_rate(machine, {0, 2, "pcie.system", 0});
  EXPECT_EQ(pcie.text, "PCIe 4.0 x16 across NUMA nodes");
  EXPECT_NEAR(pcie.gbps.value(), 31.5, 0.1);
  EXPECT_EQ(link_rate(machine, {0, 1, "pcie.node", 0}).gbps, std::nullopt);  // NVML did not tell of GPU 1
  EXPECT_EQ(link_rate(machine, {0, 1, "unknown", 0}).text, "a link that the driver does not name");
}

}  // namespace
}  // namespace stepgauge::machine
