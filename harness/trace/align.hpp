#pragma once
// The ranks of one launch on one clock, and their collectives side by side.
#include <optional>
#include <vector>

#include "trace/timeline.hpp"

namespace stepgauge::trace {

/// How far one rank's clock is from another's.
struct ClockShift {
  std::int64_t shift = 0;  ///< ns to add to the rank's times
  std::int64_t error = 0;  ///< ns: median absolute deviation from the shift
};

/// From the ends of collectives that both ranks saw: `behind` are the other rank's ends - this rank's ends, ns. nullopt
/// when they are fewer than 3.
std::optional<ClockShift> clock_shift(std::vector<std::int64_t> behind);

struct Alignment {
  std::vector<std::int64_t> shift;  ///< per rank, ns added to its clock; rank 0's is 0
  std::vector<std::int64_t> error;  ///< per rank, ns: median absolute deviation of the collectives' ends from the shift
  std::size_t collectives = 0;      ///< matched on every rank by sequence number
};

/// Clocks by the ends of collectives (a collective ends on all ranks together): the shift is the median difference of
/// ends to rank 0's (the first timeline). Only collectives whose device interval was seen on every rank count. nullopt
/// when fewer than 3 can be matched. Does not change the timelines.
std::optional<Alignment> align(const std::vector<RankTimeline>& ranks);

/// Adds the shifts to every time of the timelines. Throws std::logic_error for another number of timelines.
void apply(const Alignment& alignment, std::vector<RankTimeline>& ranks);

struct CollectiveSkew {
  std::int64_t sequence = 0;
  std::string kind;
  std::int64_t bytes = 0;
  std::int32_t bucket = -1;
  std::int64_t entry_skew = 0;  ///< ns, last entry - first entry
  int last_rank = 0;            ///< who came last
  std::int64_t longest = 0;     ///< ns, longest of the ranks' durations
  std::int64_t shortest = 0;    ///< ns, the last comer's wait-free duration: an upper bound of the transfer itself
};

/// Of aligned timelines, one entry per matched collective, in order of sequence numbers.
std::vector<CollectiveSkew> skews(const std::vector<RankTimeline>& ranks);

}  // namespace stepgauge::trace
