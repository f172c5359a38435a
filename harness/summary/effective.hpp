#pragma once
// Asked, set, used: whether what a cell asked for is what the hardware did.
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "contract/record.hpp"
#include "summary/nccl_log.hpp"
#include "trace/timeline.hpp"

namespace stepgauge::summary {

/// One setting with its three values as text; `used` is empty when nobody could see it.
struct Setting {
  std::string name;  ///< precision, memory_format, transport, algorithm, protocol, channels, topology_file, interface,
                     ///< buckets, attention, compile, cache, checkpointing
  std::string asked, set, used;
  bool ineffective = false;  ///< used is known and is not what was asked for
  std::string why{};         ///< of an ineffective one, where there is more to say than the three
};

/// `logs`: NCCL's, one a rank that left one.
std::vector<Setting> judge_settings(const Cell& cell, const std::vector<RankRecord>& ranks,
                                    const std::vector<trace::RankTimeline>& timelines,
                                    const std::vector<NcclLog>& logs);

/// "precision: asked bf16, set autocast BFloat16, used Float", or its `why`, for each that did not take, joined; empty
/// when all did.
std::string ineffective_reason(const std::vector<Setting>& settings);

Json to_json(const std::vector<Setting>& settings);

}  // namespace stepgauge::summary
