#pragma once
// Asked, set, used of compile mode, compile caches and checkpointing: whether the mode did what it is for.
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "summary/effective.hpp"

namespace stepgauge::summary {

/// "compile" for every mode but eager, "cache" where the mode has caches, "checkpointing" where it was asked for; each
/// with what the ranks and their traces say of it.
std::vector<Setting> judge_mode(const Cell& cell, const std::vector<RankRecord>& ranks,
                                const std::vector<trace::RankTimeline>& timelines);

/// The modes that are for launching CUDA graphs.
bool promises_graph_launches(const std::string& mode);

}  // namespace stepgauge::summary
