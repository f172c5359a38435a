#pragma once
// The collectives of a run in order, to be run again: docs/collective_log.md, "The plan".
#include "contract/json_io.hpp"
#include "replay/collective_log.hpp"

namespace stepgauge::replay {

inline constexpr const char* plan_schema = "stepgauge.collective_plan";
inline constexpr int plan_version = 1;

/// Of the group with most ranks (of those, most collectives); what most ranks call at each sequence number. What the
/// log does not know is null.
Json plan_of(const CollectiveLog& log);

}  // namespace stepgauge::replay
