#include "launch/environment.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace stepgauge::launch {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Cell cell_on(const std::string& device, int ranks) {
  Cell cell;
  cell.device = device;
  cell.ddp.ranks = ranks;
  return cell;
}

RankPlace place_of(int rank, std::vector<int> devices = {}) {
  RankPlace place;
  place.launch = 2;
  place.rank = place.local_rank = rank;
  place.cell_path = "/f/cell.json";
  place.record_path = "/f/rank.json";
  place.launch_id = "id";
  place.progress_fd = 3;
  place.master_port = 4711;
  place.spawn_ns = 123456789;
  place.devices = std::move(devices);
  place.usable_cores = 8;
  return place;
}

TEST(RankEnvironment, PassesTheAllowListAndNothingElse) {
  const Variables shell{
      {"PATH", "/bin"},          {"HOME", "/root"},           {"AWS_SECRET_ACCESS_KEY", "x"}, {"HF_TOKEN", "x"},
      {"NCCL_NVLS_ENABLE", "0"}, {"LD_PRELOAD", "evil.so"},   {"MY_NCCL_DEBUG", "x"},         {"TORCH_LOGS", "yes"},
      {"HF_HUB_OFFLINE", "1"},   {"TORCHDYNAMO_VERBOSE", "1"}};
  const auto seen = rank_environment(shell, cell_on("cpu", 1), place_of(0)).variables;
  for (const auto& name : {"PATH", "HOME", "NCCL_NVLS_ENABLE", "TORCH_LOGS", "HF_HUB_OFFLINE", "TORCHDYNAMO_VERBOSE"}) {
    ASSERT_TRUE(seen.contains(name)) << name;
    EXPECT_EQ(seen.at(name), shell.at(name));
  }
  for (const auto& name : {"AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "LD_PRELOAD", "MY_NCCL_DEBUG"}) {
    EXPECT_FALSE(seen.contains(name)) << name;
  }
}

TEST(RankEnvironment, SaysWhatTheContractPromises) {
  auto place = place_of(0);
  place.local_world_size = 2;
  place.store_fd = 4;
  const auto first = rank_environment({}, cell_on("cpu", 2), place).variables;
  const Variables promised{{"STEPGAUGE_CELL", "/f/cell.json"},
                           {"STEPGAUGE_RECORD", "/f/rank.json"},
                           {"STEPGAUGE_PROGRESS_FD", "3"},
                           {"STEPGAUGE_LAUNCH", "2"},
                           {"STEPGAUGE_SPAWN_NS", "123456789"},
                           {"STEPGAUGE_STORE_FD", "4"},
                           {"RANK", "0"},
                           {"LOCAL_RANK", "0"},
                           {"WORLD_SIZE", "2"},
                           {"LOCAL_WORLD_SIZE", "2"},
                           {"MASTER_ADDR", "127.0.0.1"},
                           {"MASTER_PORT", "4711"},
                           {"PYTHONUNBUFFERED", "1"}};
  for (const auto& [name, value] : promised) {
    ASSERT_TRUE(first.contains(name)) << name;
    EXPECT_EQ(first.at(name), value) << name;
  }
  EXPECT_FALSE(rank_environment({}, cell_on("cpu", 2), place_of(1)).variables.contains("STEPGAUGE_STORE_FD"));
  EXPECT_FALSE(rank_environment({}, cell_on("cpu", 1), place_of(0)).variables.contains("MASTER_PORT"));
}

TEST(RankEnvironment, TheContractCannotBeReplaced) {
  auto cell = cell_on("cpu", 1);
  cell.env = {{"RANK", "7"}, {"STEPGAUGE_RECORD", "/elsewhere"}};
  const auto seen = rank_environment({{"RANK", "5"}}, cell, place_of(0)).variables;
  EXPECT_EQ(seen.at("RANK"), "0");
  EXPECT_EQ(seen.at("STEPGAUGE_RECORD"), "/f/rank.json");
}

TEST(RankEnvironment, TheCellWinsAndTheContradictionIsNoted) {
  auto cell = cell_on("cuda", 2);
  cell.env = {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}, {"NEW_ONE", "1"}};
  const auto seen = rank_environment({{"NCCL_ALGO", "Tree"}, {"NCCL_PROTO", "Simple"}}, cell, place_of(0));
  EXPECT_EQ(seen.variables.at("NCCL_ALGO"), "Ring");
  EXPECT_EQ(seen.variables.at("NEW_ONE"), "1");
  ASSERT_THAT(seen.conflicts, SizeIs(1));
  EXPECT_EQ(seen.conflicts[0].name, "NCCL_ALGO");
  EXPECT_EQ(seen.conflicts[0].shell, "Tree");
  EXPECT_EQ(seen.conflicts[0].cell, "Ring");
}

TEST(RankEnvironment, TransportIsSetOnlyWhereTheCellAsksForIt) {
  const auto variables = [](const std::string& transport, const Variables& shell) {
    auto cell = cell_on("cuda", 2);
    cell.ddp.transport = transport;
    return rank_environment(shell, cell, place_of(0));
  };
  EXPECT_FALSE(variables("auto", {}).variables.contains("NCCL_P2P_DISABLE"));
  EXPECT_EQ(variables("auto", {{"NCCL_P2P_DISABLE", "1"}}).variables.at("NCCL_P2P_DISABLE"), "1");
  EXPECT_THAT(variables("auto", {{"NCCL_P2P_DISABLE", "1"}}).conflicts, IsEmpty());
  EXPECT_EQ(variables("p2p_off", {}).variables.at("NCCL_P2P_DISABLE"), "1");
  EXPECT_FALSE(variables("p2p_off", {}).variables.contains("NCCL_SHM_DISABLE"));
  EXPECT_EQ(variables("socket", {}).variables.at("NCCL_P2P_DISABLE"), "1");
  EXPECT_EQ(variables("socket", {}).variables.at("NCCL_SHM_DISABLE"), "1");
  const auto contradicted = variables("p2p_off", {{"NCCL_P2P_DISABLE", "0"}});
  EXPECT_EQ(contradicted.variables.at("NCCL_P2P_DISABLE"), "1");
  EXPECT_THAT(contradicted.conflicts, SizeIs(1));
}

TEST(RankEnvironment, WaysToCommunicateBecomeNcclsVariables) {
  auto cell = cell_on("cuda", 2);
  cell.ddp.backend = "nccl";
  cell.ddp.transport = "nvlink";
  cell.ddp.interface = "eth0";
  cell.ddp.algorithm = "tree";
  cell.ddp.protocol = "ll128";
  cell.ddp.channels = 4;
  cell.ddp.topology_file = "/opt/topo.xml";
  auto place = place_of(1, {0, 1});
  place.nccl_log_path = "/f/log";
  const auto seen = rank_environment({{"NCCL_ALGO", "Ring"}, {"NCCL_MAX_NCHANNELS", "4"}}, cell, place);
  // All-reduces alone: NCCL has no broadcast by tree, and DDP starts with one.
  const Variables expected{{"NCCL_P2P_LEVEL", "NVL"},          {"NCCL_SOCKET_IFNAME", "=eth0"},
                           {"NCCL_ALGO", "AllReduce:Tree"},    {"NCCL_PROTO", "AllReduce:LL128"},
                           {"NCCL_MIN_NCHANNELS", "4"},        {"NCCL_MAX_NCHANNELS", "4"},
                           {"NCCL_TOPO_FILE", "/opt/topo.xml"}};
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(seen.variables.contains(name)) << name;
    EXPECT_EQ(seen.variables.at(name), value) << name;
  }
  EXPECT_FALSE(seen.variables.contains("NCCL_P2P_DISABLE"));
  EXPECT_FALSE(seen.variables.contains("NCCL_HOSTID"));
  EXPECT_FALSE(seen.variables.contains("GLOO_SOCKET_IFNAME"));
  EXPECT_EQ(seen.variables.at("LOCAL_RANK"), "1");
  EXPECT_EQ(seen.variables.at("NCCL_DEBUG_SUBSYS"), "INIT,ENV,P2P,SHM,NET,GRAPH,TUNING");
  ASSERT_THAT(seen.conflicts, SizeIs(1));
  EXPECT_EQ(seen.conflicts[0].name, "NCCL_ALGO");
  cell.env = {{"NCCL_PROTO", "LL"}};
  EXPECT_EQ(rank_environment({}, cell, place).variables.at("NCCL_PROTO"), "LL");
  cell.ddp.ranks = 1;  // nobody to talk to
  EXPECT_FALSE(rank_environment({}, cell, place).variables.contains("NCCL_ALGO"));
}

TEST(RankEnvironment, ALineACollectiveIsLoggedOnlyWhereSomebodyAsks) {
  auto cell = cell_on("cuda", 2);
  auto place = place_of(0, {0, 1});
  place.nccl_log_path = "/f/log";
  const auto subsystems = [&] { return rank_environment({}, cell, place).variables.at("NCCL_DEBUG_SUBSYS"); };
  EXPECT_EQ(subsystems(), "INIT,ENV,P2P,SHM,NET,GRAPH");
  cell.measure.allreduce_sweep = true;
  EXPECT_EQ(subsystems(), "INIT,ENV,P2P,SHM,NET,GRAPH,TUNING");
}

TEST(RankEnvironment, AGlooInterfaceHasNoMark) {
  auto cell = cell_on("cpu", 2);
  cell.ddp.interface = "lo";
  const auto seen = rank_environment({}, cell, place_of(0)).variables;
  EXPECT_EQ(seen.at("GLOO_SOCKET_IFNAME"), "lo");
  EXPECT_FALSE(seen.contains("NCCL_SOCKET_IFNAME"));
}

TEST(RankEnvironment, RanksThatShareDevicesTakeTurnsAndAreOfDifferentHostsToNccl) {
  auto cell = cell_on("cuda", 4);
  cell.ddp.backend = "nccl";
  cell.ddp.oversubscribe = true;
  const auto seen = [&](int rank, const char* name) {
    auto place = place_of(rank, {0, 1});
    place.local_rank = rank;
    place.local_world_size = 4;
    return rank_environment({}, cell, place).variables.at(name);
  };
  EXPECT_EQ(seen(1, "LOCAL_RANK"), "1");
  EXPECT_EQ(seen(2, "LOCAL_RANK"), "0");
  EXPECT_EQ(seen(3, "RANK"), "3");
  EXPECT_EQ(seen(0, "NCCL_HOSTID"), seen(1, "NCCL_HOSTID"));
  EXPECT_NE(seen(1, "NCCL_HOSTID"), seen(2, "NCCL_HOSTID"));
  EXPECT_EQ(seen(3, "CUDA_VISIBLE_DEVICES"), "0,1");
}

TEST(RankEnvironment, DevicesAreThoseTheShellShows) {
  const auto mask = [](const Variables& shell, std::vector<int> devices) {
    return rank_environment(shell, cell_on("cuda", 2), place_of(0, std::move(devices)))
        .variables.at("CUDA_VISIBLE_DEVICES");
  };
  EXPECT_EQ(mask({}, {0, 2}), "0,2");
  EXPECT_EQ(mask({{"CUDA_VISIBLE_DEVICES", "5,3,1"}}, {0, 2}), "5,1");
  EXPECT_EQ(mask({{"CUDA_VISIBLE_DEVICES", "GPU-aa, GPU-bb"}}, {1}), "GPU-bb");
  EXPECT_THROW(mask({{"CUDA_VISIBLE_DEVICES", "5"}}, {1}), std::invalid_argument);
  EXPECT_THROW(mask({{"CUDA_VISIBLE_DEVICES", ""}}, {0}), std::invalid_argument);
  EXPECT_EQ(mask({{"CUDA_VISIBLE_DEVICES", "5,3"}}, {}), "5,3");
  EXPECT_EQ(rank_environment({}, cell_on("cuda", 1), place_of(0)).variables.at("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
}

TEST(RankEnvironment, CompileCachesAreTheLaunchsOwn) {
  auto place = place_of(0);
  EXPECT_FALSE(rank_environment({}, cell_on("cuda", 1), place).variables.contains("STEPGAUGE_CACHE_DIR"));
  place.cache_path = "/f/cache/rank0";
  const auto shell = Variables{{"TRITON_CACHE_DIR", "/root/.triton"}, {"CUDA_CACHE_PATH", "/f/cache/rank0/cuda"}};
  const auto seen = rank_environment(shell, cell_on("cuda", 1), place);
  EXPECT_EQ(seen.variables.at("STEPGAUGE_CACHE_DIR"), "/f/cache/rank0");
  EXPECT_EQ(seen.variables.at("TORCHINDUCTOR_CACHE_DIR"), "/f/cache/rank0/inductor");
  EXPECT_EQ(seen.variables.at("TRITON_CACHE_DIR"), "/f/cache/rank0/triton");
  EXPECT_EQ(seen.variables.at("CUDA_CACHE_PATH"), "/f/cache/rank0/cuda");
  ASSERT_THAT(seen.conflicts, SizeIs(1));  // a shell's cache would warm a cold start; that it was left out is told
  EXPECT_EQ(seen.conflicts[0].name, "TRITON_CACHE_DIR");
  auto own = cell_on("cuda", 1);
  own.env = {{"TRITON_CACHE_DIR", "/mine"}};
  EXPECT_EQ(rank_environment({}, own, place).variables.at("TRITON_CACHE_DIR"), "/mine");
}

TEST(RankEnvironment, ACpuCellSeesNoDevice) {
  const auto seen = rank_environment({{"CUDA_VISIBLE_DEVICES", "0,1"}}, cell_on("cpu", 1), place_of(0));
  EXPECT_EQ(seen.variables.at("CUDA_VISIBLE_DEVICES"), "");
  EXPECT_THAT(seen.conflicts, IsEmpty());
}

TEST(RankEnvironment, CpuRanksShareTheCores) {
  const auto threads = [](int ranks, const Variables& shell, const Variables& own) {
    auto cell = cell_on("cpu", ranks);
    cell.env = own;
    auto place = place_of(0);
    place.local_world_size = cell.ddp.ranks;
    return rank_environment(shell, cell, place).variables.at("OMP_NUM_THREADS");
  };
  EXPECT_EQ(threads(1, {}, {}), "8");
  EXPECT_EQ(threads(3, {}, {}), "2");
  EXPECT_EQ(threads(16, {}, {}), "1");
  EXPECT_EQ(threads(2, {{"OMP_NUM_THREADS", "3"}}, {}), "3");
  EXPECT_EQ(threads(2, {{"OMP_NUM_THREADS", "3"}}, {{"OMP_NUM_THREADS", "1"}}), "1");
  EXPECT_FALSE(rank_environment({}, cell_on("cuda", 2), place_of(0)).variables.contains("OMP_NUM_THREADS"));
}

TEST(RankEnvironment, ARankOnAnotherHostCountsOnItsOwn) {
  auto cell = cell_on("cpu", 8);
  cell.ddp.nodes = 2;
  cell.ddp.interface = "eth1";
  auto place = place_of(5);
  place.local_rank = 1;
  place.local_world_size = 4;
  place.master_address = "10.0.0.1";
  const auto seen = rank_environment({{"GLOO_SOCKET_IFNAME", "eth0"}}, cell, place);
  EXPECT_EQ(seen.variables.at("RANK"), "5");
  EXPECT_EQ(seen.variables.at("LOCAL_RANK"), "1");
  EXPECT_EQ(seen.variables.at("WORLD_SIZE"), "8");
  EXPECT_EQ(seen.variables.at("LOCAL_WORLD_SIZE"), "4");
  EXPECT_EQ(seen.variables.at("MASTER_ADDR"), "10.0.0.1");
  EXPECT_EQ(seen.variables.at("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(seen.variables.at("GLOO_SOCKET_IFNAME"), "eth1");
  EXPECT_EQ(seen.conflicts.size(), 1u);
}

}  // namespace
}  // namespace stepgauge::launch
