#pragma once
// What `stepgauge replay` says about the logs of a run.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "contract/json_io.hpp"
#include "replay/patterns.hpp"

namespace stepgauge::replay {

struct SlowCollective {
  CollectiveTiming timing;
  Op op;
  std::string group;
};

struct ReplayView {
  std::vector<std::string> sources;  ///< paths as they were given
  std::int64_t world_size = 0;       ///< 0: not known
  std::size_t files = 0, groups = 0;
  std::vector<RankLog> ranks;
  std::vector<Pattern> patterns;
  std::vector<Op> pattern_ops;          ///< of `patterns`
  std::vector<SlowCollective> slowest;  ///< longest first
  std::size_t clocks = 0;               ///< ranks whose clock is known; 0: skew is not known
  std::int64_t clock_error = 0;         ///< ns, the largest of them
  std::size_t unread_lines = 0;
  std::string first_unread;
  std::vector<std::string> notes;

  bool healthy() const { return patterns.empty(); }
};

/// `top`: slowest collectives.
ReplayView view(const std::vector<std::string>& sources, const CollectiveLog& log, const PatternSettings& settings = {},
                std::size_t top = 10);

Json to_json(const ReplayView& view);

}  // namespace stepgauge::replay
