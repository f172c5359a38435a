#pragma once
// What NCCL says of itself (NCCL_DEBUG=INFO): transports, algorithms, interfaces, and how long it took to start. The
// lines are those of NCCL 2.28 (its own format strings); a line that is cut or mixed with another is left out, so that
// what a log does not say stays unknown.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepgauge::summary {

/// One line "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM".
struct NcclChannel {
  std::string from, to;   ///< ranks
  std::string transport;  ///< as NCCL writes it: "P2P/CUMEM", "SHM/direct/direct", "NET/Socket/0"
};

/// Lines "AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}" that say the same. NCCL writes
/// them on rank 0, one a collective, with NCCL_DEBUG_SUBSYS=TUNING.
struct NcclChoice {
  std::string collective;           ///< "AllReduce"
  std::string algorithm, protocol;  ///< lower case: "ring", "simple"
  int channels = 0;                 ///< that carried it
  std::int64_t count = 0;           ///< lines
  std::int64_t smallest_bytes = 0, largest_bytes = 0;

  void take_in(const NcclChoice& other);
};

/// One line "Init timings - ncclCommInitRank: rank 0 nranks 2 total 0.50 (kernels 0.19, alloc 0.04, ...)".
struct NcclInit {
  int rank = 0, ranks = 0;
  double total_s = 0;
  std::map<std::string, double> parts_s;  ///< kernels, alloc, bootstrap, allgathers, topo, graphs, connections, rest
};

/// The log of one rank.
struct NcclLog {
  std::vector<NcclChannel> channels;
  std::vector<NcclChoice> choices;
  std::vector<NcclInit> inits;                   ///< one a communicator
  std::string network;                           ///< "Socket", "IB": of "Using network Socket"
  std::vector<std::string> interfaces;           ///< of "NET/Socket : Using [0]eth0:10.0.0.1<0>"
  std::optional<int> collective_channels;        ///< of "24 coll channels, ..."
  std::vector<std::string> topology_files;       ///< of "Loading topology file ...": it was opened
  std::map<std::string, std::string> variables;  ///< of "NCCL_ALGO set by environment to ..."
};

NcclLog read_nccl_log(std::string_view log);

/// Every channel line of a log, in order, however it is mixed with other output.
std::vector<NcclChannel> nccl_channels(std::string_view log);

/// "p2p", "shm", "socket", "ib" or the text itself where it is none of them.
std::string transport_family(const std::string& transport);

/// Family -> number of channels.
std::map<std::string, int> transports_used(const std::vector<NcclChannel>& channels);

/// The channels of all logs.
std::vector<NcclChannel> all_channels(const std::vector<NcclLog>& logs);

}  // namespace stepgauge::summary
