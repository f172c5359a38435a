#pragma once
// What the ranks say of their communication, as one part of the launch record.
#include <vector>

#include "contract/record.hpp"

namespace stepgauge::summary {

/// Rank 0's `communication`, with the largest over the ranks of bytes_per_step_sent, collectives_per_step and
/// error_state_mib, and the `pairs` of all ranks, each pair once. Null when rank 0 has none.
Json merge_communication(const std::vector<RankRecord>& ranks);

}  // namespace stepgauge::summary
