#pragma once
// The collectives of another run, made again through this launch's process group (docs/collective_log.md, "The plan").
#include <string>

#include "contract/json_io.hpp"
#include "worker/device.hpp"
#include "worker/parallel/process_group.hpp"

namespace stepgauge::worker {

/// Runs the plan at `path` once to warm up and three times measured; every rank must call it. `replay` of the record:
/// per collective its recorded time and the median over the passes, of the slowest rank, ms. Collectives that the plan
/// does not know enough about, or the backend cannot make, are `skipped` with the reason. Throws ContractError for a
/// document that is no plan or is for another number of ranks.
Json replay_plan(const std::string& path, RankGroup& group, DeviceRoom& room);

}  // namespace stepgauge::worker
