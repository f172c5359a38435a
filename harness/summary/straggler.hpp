#pragma once
// A rank that the others wait for, from the collectives of the traced pass.
#include <optional>
#include <string>

#include "contract/json_io.hpp"

namespace stepgauge::summary {

struct Straggler {
  int rank = 0;           ///< that came last most often
  int last = 0;           ///< collectives in which it did
  int collectives = 0;    ///< of those that the traces hold of every rank
  double behind_ms = 0;   ///< mean of last - first entry where it came last
  double waiting = 0;     ///< share of the time in these collectives that is waiting for it
  bool explains = false;  ///< last in 80 % of 10 or more, and at least half of the time in them is waiting
};

/// From `timeline.collectives` of a launch record; nullopt where there are none.
std::optional<Straggler> straggler(const Json& timeline);

/// "rank 1 came last in 97 % of the collectives, 12.3 ms behind the first on average".
std::string straggler_text(const Straggler& found);
Json straggler_json(const Straggler& found);

}  // namespace stepgauge::summary
