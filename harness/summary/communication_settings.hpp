#pragma once
// Asked, set, used of the ways to communicate: transport, and what NCCL chooses for its collectives.
#include <vector>

#include "contract/cell.hpp"
#include "summary/effective.hpp"
#include "summary/nccl_log.hpp"

namespace stepgauge::summary {

/// nccl: "transport" always, "algorithm", "protocol" and "channels" where they were asked for or NCCL told them,
/// "topology_file" where it was asked for. "interface" of every backend where it was asked for. `used` is what the logs
/// say; what they do not say is not known and never ineffective.
std::vector<Setting> judge_communication(const Cell& cell, const std::vector<RankRecord>& ranks,
                                         const std::vector<NcclLog>& logs);

/// The variables of `names` that rank 0 saw: "NCCL_P2P_DISABLE=1 NCCL_NET=Socket".
std::string variables_seen(const std::vector<RankRecord>& ranks, const std::vector<const char*>& names);

}  // namespace stepgauge::summary
