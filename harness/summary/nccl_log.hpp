#pragma once
// What NCCL says of itself (NCCL_DEBUG=INFO): the transport of each channel and pair.
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stepgauge::summary {

/// One line "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM".
struct NcclChannel {
  std::string from, to;   ///< ranks
  std::string transport;  ///< as NCCL writes it: "P2P/CUMEM", "SHM/direct/direct", "NET/Socket/0"
};

/// Every channel line of a log, in order, however it is mixed with other output.
std::vector<NcclChannel> nccl_channels(std::string_view log);

/// "p2p", "shm", "socket", "ib" or the text itself where it is none of them.
std::string transport_family(const std::string& transport);

/// Family -> number of channels.
std::map<std::string, int> transports_used(const std::vector<NcclChannel>& channels);

}  // namespace stepgauge::summary
