#pragma once
#include "replay/detail/stream_patterns.hpp"
#include "replay/patterns.hpp"

namespace stepgauge::replay::detail {

/// The same call getting larger step by step. The steps are found from the calls: the shortest period after which most
/// calls are the same again; where sizes never repeat, that of kinds and call sites. See docs/collective_log.md.
void find_growth(const Group& group, const CollectiveLog& log, const Columns& columns, const PatternSettings& settings,
                 Findings& out);

}  // namespace stepgauge::replay::detail
