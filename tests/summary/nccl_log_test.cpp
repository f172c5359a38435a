// What is read from NCCL's logs, and what is not read from lines that are broken. The lines are of NCCL 2.27 and 2.28
// runs (nccl#1646, nccl-tests#273) and of its format strings.
#include "summary/nccl_log.hpp"

#include <gmock/gmock.h>

#include "summary/nccl_summary.hpp"

namespace stepgauge::summary {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr const char* slow_start =
    "d5618706-01:1106802:1106870 [3] NCCL INFO Init timings - ncclCommInitRankConfig: rank 3 nranks 8 total 55.01 "
    "(kernels 52.45, alloc 0.41, bootstrap 0.57, allgathers 0.08, topo 1.10, graphs 0.01, connections 0.39, rest "
    "0.00)\n"
    "d5618706-01:1106799:1106856 [0] NCCL INFO TUNER/Plugin: Could not find: libnccl-tuner.so libnccl-net.so.\n"
    "some output of the program without an end\r\n"
    "d5618706-01:1106799:1106856 [0] NCCL INFO Init timings - ncclCommInitRankConfig: rank 0 nranks 8 total 55.17 "
    "(kernels 52.33, alloc 0.42, bootstrap 0.84, allgathers 0.08, topo 1.10, graphs 0.01, connections 0.39, rest "
    "0.00)\n";

TEST(NcclLog, StartsOfCommunicatorsByPart) {
  const auto log = read_nccl_log(slow_start);
  ASSERT_THAT(log.inits, SizeIs(2));
  EXPECT_EQ(log.inits[0].rank, 3);
  EXPECT_EQ(log.inits[0].ranks, 8);
  EXPECT_DOUBLE_EQ(log.inits[0].total_s, 55.01);
  EXPECT_DOUBLE_EQ(log.inits[0].parts_s.at("kernels"), 52.45);
  EXPECT_THAT(log.inits[0].parts_s, SizeIs(8));
  const auto json = nccl_init_json({log});
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["rank"], 0);
  EXPECT_EQ(json[0]["kernels_s"], 52.33);
  EXPECT_EQ(nccl_init_text(json),
            "NCCL took 55.2 s to start (rank 0, the slowest), about 95 % of it in loading kernels");
}

TEST(NcclLog, TheOlderLineIsReadAndBrokenOnesAreNot) {
  const auto older = read_nccl_log(
      "n012:7622:7638 [2] NCCL INFO Init timings: rank 2 nranks 8 total 0.66 (kernels 0.42, bootstrap 0.07, rest "
      "0.00)");
  ASSERT_THAT(older.inits, SizeIs(1));
  EXPECT_DOUBLE_EQ(older.inits[0].parts_s.at("bootstrap"), 0.07);
  // Another rank wrote into the middle; the line has no end; numbers that are none.
  for (const char* broken :
       {"Init timings - ncclCommInitRank: rank 0 nranks 8 total 2.48 (kernels 0.34, alloc dev:1797 [1] NCCL INFO x",
        "Init timings - ncclCommInitRank: rank 0 nranks 2 total 0.50 (kernels 0.19, alloc 0.0",
        "Init timings - ncclCommInitRank: rank 0 nranks 2 total nan (kernels 0.19)",
        "Init timings - ncclCommInitRank: rank 0 nranks 2 total -1 (kernels 0.19)", "Init timings - "}) {
    EXPECT_THAT(read_nccl_log(broken).inits, IsEmpty()) << broken;
  }
  EXPECT_THAT(nccl_init_json({NcclLog{}}), IsEmpty());  // not known, not zero
  EXPECT_EQ(nccl_init_text(Json::array()), "");
}

TEST(NcclLog, SeveralCommunicatorsOfARankAddUp) {
  const std::string one = "Init timings - ncclCommInitRank: rank 1 nranks 2 total 0.50 (kernels 0.20, rest 0.30)\n";
  const auto json = nccl_init_json({read_nccl_log(one + one)});
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["communicators"], 2);
  EXPECT_EQ(json[0]["total_s"], 1.0);
}

constexpr const char* choices =
    "h:1:1 [0] NCCL INFO AllReduce: 94371840 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}\n"
    "h:1:1 [0] NCCL INFO AllReduce: 4 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}\n"
    "h:1:1 [0] NCCL INFO AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23} cgaClusterSize 4\n"
    "h:1:1 [0] NCCL INFO Broadcast: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}\n"
    "h:1:1 [0] NCCL INFO AllReduce: 8 Bytes -> Algo TREE proto LL channel{Lo..H\n"
    "h:1:1 [0] NCCL INFO AllReduce: many Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}\n";

TEST(NcclLog, AlgorithmProtocolAndChannelsOfCollectives) {
  const auto log = read_nccl_log(choices);
  ASSERT_THAT(log.choices, SizeIs(3));
  EXPECT_EQ(log.choices[0].collective, "AllReduce");
  EXPECT_EQ(log.choices[0].algorithm, "ring");
  EXPECT_EQ(log.choices[0].protocol, "simple");
  EXPECT_EQ(log.choices[0].channels, 24);
  EXPECT_EQ(log.choices[0].count, 2);
  EXPECT_EQ(log.choices[0].smallest_bytes, 4194304);
  EXPECT_EQ(log.choices[0].largest_bytes, 94371840);
}

TEST(NcclLog, NetworkInterfacesFilesAndVariables) {
  const auto log = read_nccl_log(
      "h:1:1 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to =eth0\n"
      "h:1:1 [0] NCCL INFO NCCL_MIN_NCHANNELS set by environment to 4.\n"
      "h:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:172.26.190.235<0> [1]br-ee:fe80::c821:6bff%veth<0>\r\n"
      "h:1:1 [0] NCCL INFO Using network Socket\n"
      "h:1:1 [0] NCCL INFO Loading topology file /opt/topo.xml\n"
      "h:1:1 [0] NCCL INFO 24 coll channels, 0 collnet channels, 0 nvls channels, 32 p2p channels, 32 p2p channels\n");
  EXPECT_EQ(log.network, "Socket");
  EXPECT_THAT(log.interfaces, ElementsAre("eth0", "br-ee"));
  EXPECT_THAT(log.topology_files, ElementsAre("/opt/topo.xml"));
  EXPECT_EQ(log.collective_channels, 24);
  EXPECT_THAT(log.variables, ElementsAre(Pair("NCCL_MIN_NCHANNELS", "4"), Pair("NCCL_SOCKET_IFNAME", "=eth0")));
  const auto json = nccl_json({log});
  EXPECT_EQ(json["interfaces"], Json({"br-ee", "eth0"}));
  EXPECT_FALSE(json.contains("choices"));
  EXPECT_TRUE(nccl_json({}).is_null());
}

}  // namespace
}  // namespace stepgauge::summary
