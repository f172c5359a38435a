#pragma once
// The clocks of ranks, from the ends of collectives that end on all ranks together (trace/align.hpp).
#include <cstdint>
#include <map>

#include "replay/collective_log.hpp"

namespace stepgauge::replay {

struct Clock {
  std::int64_t shift = 0;  ///< ns to add to the rank's times
  std::int64_t error =
      0;  ///< ns that the shift may be off by: median absolute deviation, summed up along the ranks between
};

/// By rank. Ranks that share fewer than 3 ended collectives with any rank whose clock is known are absent. Empty when
/// no log has the ends of collectives. All shifts are against one rank, whose own is 0.
std::map<int, Clock> clocks(const CollectiveLog& log);

}  // namespace stepgauge::replay
