#pragma once
#include "replay/detail/stream_patterns.hpp"
#include "replay/patterns.hpp"

namespace stepgauge::replay::detail {

/// One entry a column; ranks whose numbers are shifted or whose call does not fit are left out of it.
std::vector<CollectiveTiming> timings_of(std::uint32_t group, const CollectiveLog& log, const Columns& columns,
                                         const std::map<int, Clock>& clocks);

/// skew, slow.
void find_time_patterns(const Group& group, const CollectiveLog& log, const std::vector<CollectiveTiming>& timings,
                        const std::map<int, Clock>& clocks, const PatternSettings& settings, Findings& out);

}  // namespace stepgauge::replay::detail
