#pragma once
// One file of all ranks, on rank 0's clock.
#include <optional>
#include <string>
#include <vector>

#include "trace/align.hpp"
#include "trace/timeline.hpp"

namespace stepgauge::trace {

/// Writes the merged trace (docs/trace_file.md) of aligned timelines to `path`. Throws std::system_error.
void write_merged(const std::string& path, const std::vector<RankTimeline>& ranks,
                  const std::optional<Alignment>& alignment);

}  // namespace stepgauge::trace
