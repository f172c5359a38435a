// The stall alarm: when it is raised, and which hop, rank or amount it names. Numbers of two H200 where there are some.
#include "summary/topology_check.hpp"

#include <gmock/gmock.h>

#include "summary/communication_settings.hpp"
#include "summary/merge_communication.hpp"

namespace stepgauge::summary {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Cell nccl_cell(const std::string& transport, int ranks = 2) {
  Cell cell;
  cell.ddp.ranks = ranks;
  cell.ddp.backend = "nccl";
  cell.ddp.transport = transport;
  return cell;
}

LaunchRecord stalled(double stall, double exposed, Json environment = Json::object()) {
  LaunchRecord record;
  record.metrics["stall_ratio"] = {stall, "%", ""};
  record.metrics["exposed_comm"] = {exposed, "%", ""};
  record.metrics["idle_ratio"] = {stall - exposed, "%", ""};
  record.metrics["bytes_per_step"] = {512, "MiB", ""};
  record.detail["ranks"] = {{{"environment", std::move(environment)}}};
  return record;
}

NcclLog channels(std::vector<NcclChannel> of) {
  NcclLog log;
  log.channels = std::move(of);
  return log;
}

const PairLink nvlink{0, 1, "GPU 0 - GPU 1", "nvlink", "NVLink 4, 18 links", 450};
const std::vector<NcclChannel> sockets{{"0", "1", "NET/Socket/0"}, {"1", "0", "NET/Socket/0"}};
const std::vector<NcclChannel> p2p{{"0", "1", "P2P/CUMEM"}, {"1", "0", "P2P/CUMEM"}};
const Json off{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}, {"NCCL_NET", "Socket"}};

Json sweep(double gbps) {
  return {{"sweep",
           {{{"bytes", 1024}, {"busbw_gbps", 0.01}},
            {{"bytes", 64 << 20}, {"busbw_gbps", 0.9 * gbps}},
            {{"bytes", 1 << 30}, {"busbw_gbps", gbps}}}}};
}

std::string first(const Json& check) {
  return check.at("findings").at(0).get<std::string>();
}

TEST(StallAlarm, IsRaisedAboveTheCellsLimitForSeveralRanks) {
  auto cell = nccl_cell("auto");
  EXPECT_TRUE(stalls(cell, stalled(35.1, 30)));
  EXPECT_FALSE(stalls(cell, stalled(35, 30)));
  auto traced_slowly = stalled(50, 10);
  traced_slowly.metrics["trace_overhead"].value = 1.5;
  traced_slowly.detail["timeline"]["stall_of_untraced"] = 9;
  EXPECT_FALSE(stalls(cell, traced_slowly)) << "the tracer's stall, not the step's";
  traced_slowly.detail["timeline"]["stall_of_untraced"] = 36;
  EXPECT_TRUE(stalls(cell, traced_slowly));
  cell.stall_alarm = 0;
  EXPECT_FALSE(stalls(cell, stalled(99, 90)));
  cell.stall_alarm = 10;
  EXPECT_TRUE(stalls(cell, stalled(11, 9)));
  cell.ddp.ranks = 1;
  EXPECT_FALSE(stalls(cell, stalled(99, 90)));
  EXPECT_FALSE(stalls(nccl_cell("auto"), LaunchRecord{}));
}

TEST(TopologyCheck, SocketsBesideNvlinkAreTheCells) {
  auto record = stalled(83, 82, off);
  record.detail["communication"] = sweep(3.7);
  const auto out = check_topology(nccl_cell("socket"), record, {{nvlink}, "", {channels(sockets)}});
  EXPECT_EQ(out.at("cause"), "path");
  EXPECT_EQ(
      first(out),
      "GPU 0 - GPU 1: NVLink 4, 18 links (450 GB/s a direction), but NCCL uses sockets (NET/Socket/0), and gives 3.7 "
      "GB/s (bus bandwidth of an all-reduce of 1 GiB): P2P and shared memory are off by the cell "
      "(NCCL_P2P_DISABLE=1, NCCL_SHM_DISABLE=1)");
  EXPECT_EQ(out.at("hop").at("ranks"), Json({0, 1}));
  EXPECT_EQ(out.at("pairs").at(0).at("link_gbps"), 450);
  EXPECT_EQ(out.at("pairs").at(0).at("gbps"), 3.7);
  EXPECT_FALSE(out.contains("sweep_absent"));
}

TEST(TopologyCheck, WhatTheShellSwitchedOffIsTheShells) {
  const auto out = check_topology(nccl_cell("auto"), stalled(83, 82, off), {{nvlink}, "", {channels(sockets)}});
  EXPECT_THAT(first(out), HasSubstr("off by the shell"));
  EXPECT_THAT(out.at("findings").at(1).get<std::string>(), HasSubstr("measure: {allreduce_sweep: true}"));
  EXPECT_THAT(out.at("sweep_absent").get<std::string>(), HasSubstr("did not ask"));
  auto own = nccl_cell("auto");
  own.env = {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}};
  EXPECT_THAT(first(check_topology(own, stalled(83, 82, off), {{nvlink}, "", {channels(sockets)}})),
              HasSubstr("off by the cell"));
}

TEST(TopologyCheck, NobodySwitchedP2pOff) {
  const auto out =
      check_topology(nccl_cell("auto"), stalled(50, 49), {{nvlink}, "", {channels({{"0", "1", "SHM/direct/direct"}})}});
  EXPECT_THAT(first(out), AllOf(HasSubstr("shared memory of the host"), HasSubstr("no setting that is known")));
}

TEST(TopologyCheck, ALinkThatGivesTooLittle) {
  auto record = stalled(50, 49);
  record.detail["communication"] = sweep(120);
  const auto out = check_topology(nccl_cell("auto"), record, {{nvlink}, "", {channels(p2p)}});
  EXPECT_EQ(out.at("cause"), "bandwidth");
  EXPECT_THAT(first(out), HasSubstr("27 % of it"));
}

TEST(TopologyCheck, AHealthyPathLeavesTheAmount) {
  auto record = stalled(50, 49);
  record.detail["communication"] = sweep(325);
  const auto out = check_topology(nccl_cell("auto"), record, {{nvlink}, "", {channels(p2p)}});
  EXPECT_EQ(out.at("cause"), "amount");
  EXPECT_THAT(first(out), AllOf(HasSubstr("325 GB/s"), HasSubstr("512 MiB a step")));
  EXPECT_FALSE(out.contains("hop"));
}

TEST(TopologyCheck, TheWorstOfSeveralHopsComesFirst) {
  const PairLink near{0, 1, "GPU 0 - GPU 1", "pcie.single_switch", "PCIe 4.0 x16 through one switch", 31.5};
  const PairLink far{1, 2, "GPU 1 - GPU 2", "pcie.system", "PCIe 4.0 x16 across NUMA nodes", 31.5};
  const PairLink unused{0, 2, "GPU 0 - GPU 2", "pcie.system", "PCIe 4.0 x16 across NUMA nodes", 31.5};
  auto record = stalled(50, 49);
  record.detail["communication"]["pairs"] = {{{"a", 0}, {"b", 1}, {"gbps", 14}}, {{"a", 2}, {"b", 1}, {"gbps", 6}}};
  const auto out =
      check_topology(nccl_cell("auto", 3), record,
                     {{near, far, unused}, "", {channels({{"0", "1", "P2P/CUMEM"}, {"1", "2", "P2P/CUMEM"}})}});
  ASSERT_EQ(out.at("findings").size(), 2u);
  EXPECT_THAT(first(out), AllOf(HasSubstr("GPU 1 - GPU 2"), HasSubstr("19 % of it")));
  EXPECT_EQ(out.at("hop").at("ranks"), Json({1, 2}));
  EXPECT_FALSE(out.at("pairs").at(1).contains("degraded"));  // nobody goes that way
}

TEST(TopologyCheck, AnAllReduceOfManyRanksBlamesNoPairWithoutMeasuringIt) {
  const PairLink other{1, 2, "GPU 1 - GPU 2", "nvlink", "NVLink 4, 18 links", 450};
  auto record = stalled(50, 49);
  record.detail["communication"] = sweep(40);
  const auto out =
      check_topology(nccl_cell("auto", 3), record,
                     {{nvlink, other}, "", {channels({{"0", "1", "P2P/CUMEM"}, {"1", "2", "P2P/CUMEM"}})}});
  EXPECT_EQ(out.at("cause"), "bandwidth");
  EXPECT_THAT(first(out), HasSubstr("the pairs were not measured"));
}

Json collectives(int count, int late_rank, double behind_ms, double longest_ms) {
  auto out = Json::array();
  for (int i = 0; i < count; ++i)
    out.push_back(
        {{"last_rank", i % 30 == 29 ? 0 : late_rank}, {"entry_skew_ms", behind_ms}, {"longest_ms", longest_ms}});
  return out;
}

TEST(TopologyCheck, AStragglerIsNotThePaths) {
  auto record = stalled(60, 58, off);
  record.detail["timeline"]["collectives"] = collectives(60, 1, 12, 13);
  const auto out = check_topology(nccl_cell("socket"), record, {{nvlink}, "", {channels(sockets)}});
  EXPECT_EQ(out.at("cause"), "straggler");
  EXPECT_EQ(
      first(out),
      "the stall is not the path's: rank 1 came last in 97 % of the collectives, 12 ms behind the first on average");
  EXPECT_EQ(out.at("straggler").at("rank"), 1);
}

TEST(TopologyCheck, ARankThatIsLastByALittleIsNoStraggler) {
  auto record = stalled(83, 82, off);
  record.detail["timeline"]["collectives"] = collectives(60, 1, 0.08, 49);
  EXPECT_EQ(check_topology(nccl_cell("socket"), record, {{nvlink}, "", {channels(sockets)}}).at("cause"), "path");
  record.detail["timeline"]["collectives"] = collectives(9, 1, 12, 13);  // too few to tell
  EXPECT_EQ(check_topology(nccl_cell("socket"), record, {{nvlink}, "", {channels(sockets)}}).at("cause"), "path");
}

TEST(TopologyCheck, WhereTheRulesBegin) {
  const auto cause = [](double gbps, const Json& seen, double exposed = 49) {
    auto record = stalled(50, exposed);
    record.detail["communication"] = sweep(gbps);
    record.detail["timeline"]["collectives"] = seen;
    return check_topology(nccl_cell("auto"), record, {{nvlink}, "", {channels(p2p)}}).at("cause").get<std::string>();
  };
  const auto last = [](int of_rank_1, double behind_ms) {
    auto out = Json::array();
    for (int i = 0; i < 10; ++i)
      out.push_back({{"last_rank", i < of_rank_1 ? 1 : 0}, {"entry_skew_ms", behind_ms}, {"longest_ms", 10}});
    return out;
  };
  EXPECT_EQ(cause(224, Json::array()), "bandwidth");  // half of 450 GB/s
  EXPECT_EQ(cause(226, Json::array()), "amount");
  EXPECT_EQ(cause(226, last(8, 5.1)), "straggler");  // 80 %, and half of the time
  EXPECT_EQ(cause(226, last(7, 5.1)), "amount");
  EXPECT_EQ(cause(226, last(8, 4.9)), "amount");
  EXPECT_EQ(cause(226, Json::array(), 24.9), "not_communication");  // half of the stall
  EXPECT_EQ(cause(226, Json::array(), 25.1), "amount");
}

TEST(TopologyCheck, AStallOfTheHostIsNotCommunication) {
  const auto out = check_topology(nccl_cell("auto"), stalled(60, 5), {{nvlink}, "", {channels(p2p)}});
  EXPECT_EQ(out.at("cause"), "not_communication");
  EXPECT_THAT(first(out), HasSubstr("nothing ran for 55.0 %"));
}

TEST(TopologyCheck, RanksOnTheCpuHaveNoLinks) {
  Cell cell;
  cell.device = "cpu";
  cell.ddp.ranks = 2;
  cell.ddp.backend = "gloo";
  cell.ddp.interface = "lo";
  const auto out = check_topology(cell, stalled(60, 58), {{}, "the ranks run on the CPU", {}});
  EXPECT_THAT(first(out), HasSubstr("gloo over interface lo"));
  EXPECT_THAT(out.at("findings").at(1).get<std::string>(), Not(HasSubstr("last")));  // no collective was seen
  EXPECT_THAT(out.at("pairs"), IsEmpty());
  EXPECT_EQ(out.at("cause"), "not_known");
}

TEST(TopologyCheck, WithoutALogNothingIsSaidOfTransports) {
  const auto out = check_topology(nccl_cell("auto"), stalled(60, 58), {{}, "no driver", {}});
  EXPECT_THAT(first(out), HasSubstr("not known: no driver"));
}

TEST(TopologyCheck, OddRecordsAreUnknownNotErrors) {
  auto record = stalled(60, 58);
  record.detail["ranks"] = "none";
  record.detail["communication"] = {{"sweep", {1, {{"bytes", "x"}}}}, {"pairs", {{"absent", "no send"}}}};
  record.detail["timeline"]["collectives"] = {{{"last_rank", "x"}}, 3};
  NcclLog log = channels({{"zero", "1", "P2P/CUMEM"}});
  const auto out = check_topology(nccl_cell("auto"), record, {{nvlink}, "", {log}});
  EXPECT_FALSE(out.at("findings").empty());
}

TEST(MergeCommunication, LargestOverTheRanksAndEveryPairOnce) {
  RankRecord zero, one;
  zero.detail["communication"] = {{"hook", "top_k"},
                                  {"bytes_per_step_sent", 10},
                                  {"error_state_mib", 1.5},
                                  {"pairs", {{{"a", 0}, {"b", 1}, {"gbps", 3}}}}};
  one.detail["communication"] = {{"bytes_per_step_sent", 30},
                                 {"pairs", {{{"a", 1}, {"b", 0}, {"gbps", 4}}, {{"a", 1}, {"b", 2}, {"gbps", 5}}}}};
  const auto out = merge_communication({zero, one});
  EXPECT_EQ(out["hook"], "top_k");
  EXPECT_EQ(out["bytes_per_step_sent"], 30);
  EXPECT_EQ(out["error_state_mib"], 1.5);
  EXPECT_EQ(out["pairs"].size(), 2u);
  EXPECT_TRUE(merge_communication({RankRecord{}}).is_null());
}

std::vector<Setting> judged(const Cell& cell, const NcclLog& log, Json environment = Json::object()) {
  RankRecord rank;
  rank.detail["environment"] = std::move(environment);
  return judge_communication(cell, {rank, rank}, {log});
}

const Setting& named(const std::vector<Setting>& settings, const std::string& name) {
  static const Setting none{};
  for (const auto& one : settings) {
    if (one.name == name) return one;
  }
  return none;
}

TEST(CommunicationSettings, AskedTreeUsedRingIsIneffective) {
  auto cell = nccl_cell("auto");
  cell.ddp.algorithm = "tree";
  NcclLog log = channels(p2p);
  log.choices = {{"AllReduce", "ring", "simple", 24, 300, 4, 100 << 20}, {"Broadcast", "ring", "simple", 24, 3, 4, 4}};
  const auto settings = judged(cell, log, {{"NCCL_ALGO", "AllReduce:Tree"}});
  const auto& algorithm = named(settings, "algorithm");
  EXPECT_TRUE(algorithm.ineffective);
  EXPECT_EQ(algorithm.set, "NCCL_ALGO=AllReduce:Tree");
  EXPECT_EQ(algorithm.used, "ring (300 all-reduces of 4 B to 100 MiB)");
  EXPECT_FALSE(named(settings, "protocol").ineffective);  // nobody asked
  EXPECT_EQ(named(settings, "protocol").asked, "auto");
  log.choices[0].algorithm = "tree";
  EXPECT_FALSE(named(judged(cell, log), "algorithm").ineffective);
  log.choices.clear();  // TUNING was not logged
  EXPECT_FALSE(named(judged(cell, log), "algorithm").ineffective);
  EXPECT_THAT(named(judged(cell, log), "algorithm").used, IsEmpty());
}

TEST(CommunicationSettings, ChannelsInterfaceAndTopologyFile) {
  auto cell = nccl_cell("auto");
  cell.ddp.channels = 4;
  cell.ddp.interface = "eth0";
  cell.ddp.topology_file = "topo.xml";
  NcclLog log = channels(p2p);
  log.collective_channels = 2;
  log.interfaces = {"eth1"};
  const Json environment{{"NCCL_TOPO_FILE", "/w/topo.xml"}, {"NCCL_DEBUG_SUBSYS", "INIT,GRAPH"}};
  auto settings = judged(cell, log, environment);
  EXPECT_TRUE(named(settings, "channels").ineffective);
  EXPECT_TRUE(named(settings, "interface").ineffective);
  EXPECT_TRUE(named(settings, "topology_file").ineffective);
  EXPECT_EQ(named(settings, "topology_file").used, "no file");
  log.collective_channels = 4;
  log.interfaces = {"eth0"};
  log.topology_files = {"/w/topo.xml"};
  for (const auto& one : judged(cell, log, environment)) EXPECT_FALSE(one.ineffective) << one.name;
  // A log without that part cannot tell.
  log.topology_files.clear();
  EXPECT_FALSE(named(judged(cell, log, {{"NCCL_DEBUG_SUBSYS", "INIT"}}), "topology_file").ineffective);
}

TEST(CommunicationSettings, NvlinkIsP2pThatIsAllowedOverNvlinkAlone) {
  EXPECT_FALSE(named(judged(nccl_cell("nvlink"), channels(p2p)), "transport").ineffective);
  EXPECT_TRUE(named(judged(nccl_cell("nvlink"), channels({{"0", "1", "SHM/direct/direct"}})), "transport").ineffective);
}

}  // namespace
}  // namespace stepgauge::summary
