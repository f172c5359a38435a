#pragma once
#include "contract/cell.hpp"
#include "contract/record.hpp"
#include "stub_options.hpp"

namespace stepgauge::stub {

/// The trace of --exposed-comm, where one is asked for, with what the record says of it, and the log of --nccl-log.
void leave_inside(const Options& options, const Cell& cell, int rank, RankRecord& record);

}  // namespace stepgauge::stub
