#pragma once
// The stall alarm: a launch that stalls too much has its topology looked at.
#include <vector>

#include "contract/cell.hpp"
#include "contract/record.hpp"
#include "summary/nccl_log.hpp"

namespace stepgauge::cli {

/// Adds `topology_check` to the record of a launch whose stall_ratio is above the cell's stall_alarm; asks NVML for the
/// links of its devices (`devices` as CUDA counts them, rank r has r % devices). Other records stay as they are.
void check_stall(const Cell& cell, const std::vector<int>& devices, const std::vector<summary::NcclLog>& nccl_logs,
                 LaunchRecord& record);

}  // namespace stepgauge::cli
