#pragma once
// NCCL's logs as parts of a launch record.
#include <string>
#include <vector>

#include "contract/json_io.hpp"
#include "summary/nccl_log.hpp"

namespace stepgauge::summary {

/// Array, one item a rank of which a log has the line: {rank, communicators, total_s, kernels_s, alloc_s, bootstrap_s,
/// ...}; sums over the communicators. Empty: nobody said, which is not zero.
Json nccl_init_json(const std::vector<NcclLog>& logs);

/// {start, choices, network, interfaces, collective_channels, topology_files, variables}, each part where a log has it;
/// start is nccl_init_text(). null without any log.
Json nccl_json(const std::vector<NcclLog>& logs);

/// "NCCL took 55.2 s to start (rank 0, the slowest), about 95 % of it in loading kernels"; empty without such lines.
std::string nccl_init_text(const Json& nccl_init);

}  // namespace stepgauge::summary
