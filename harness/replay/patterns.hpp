#pragma once
// What is wrong in a distributed run, as far as its collectives show it.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "replay/clocks.hpp"
#include "replay/collective_log.hpp"

namespace stepgauge::replay {

enum class PatternKind : std::uint8_t {
  silent,    ///< a rank's log ends while others wait in the next collective
  stuck,     ///< every rank entered a collective and none came out
  skipped,   ///< a rank left out collectives: its later ones meet the wrong ones of the others
  extra,     ///< a rank ran more collectives than the others
  mismatch,  ///< kind, size, element type or shape differ at a sequence number
  skew,      ///< a rank comes much later than the first one
  growth,    ///< the same call gets larger and larger
  slow,      ///< one rank is always the last
};

std::string_view to_string(PatternKind kind);

/// What can keep a rank waiting; late and growing ranks are no reason to end.
bool explains_an_end(PatternKind kind);

struct Pattern {
  PatternKind kind = PatternKind::silent;
  std::vector<int> ranks;  ///< whose fault it is; empty: all, or it cannot be told
  std::string group;
  std::int64_t sequence = 0;     ///< of the collective at which it shows (first)
  std::uint32_t op = 0;          ///< index into CollectiveLog::ops: the collective
  std::int64_t collectives = 1;  ///< that it concerns
  double value = 0;              ///< skew: ms, largest; slow: mean lead in ms; growth: last / first size; else 0
  std::string text;              ///< one line for people
};

struct PatternSettings {
  double skew_ms = 100;
  double slow_share = 0.8;       ///< of the collectives in which a rank came last
  double slow_lead_ms = 1;       ///< mean time behind the last but one
  std::int64_t slow_least = 10;  ///< collectives
  double growth = 1.5;           ///< size / size before
};

/// One collective over the ranks.
struct CollectiveTiming {
  std::uint32_t group = 0;  ///< index into CollectiveLog::groups
  std::int64_t sequence = 0;
  std::uint32_t op = 0;
  std::int64_t longest = not_known;   ///< ns from entry to end on the rank that waited longest
  std::int64_t shortest = not_known;  ///< ns on the rank that waited least: an upper bound of the transfer itself
  int longest_rank = 0;
  std::int64_t compared = 0;  ///< ranks whose entries could be compared; the following only where there are 2
  std::int64_t first_entry = 0, last_entry = 0, before_last = 0;  ///< ns on the common clock
  int first_rank = 0, last_rank = 0;

  std::int64_t skew() const { return last_entry - first_entry; }
  std::int64_t lead() const { return last_entry - before_last; }  ///< the last rank behind the last but one
};

struct Findings {
  /// First what explains an end, by sequence number: a rank is silent because another call went wrong before. Then the
  /// rest. Else by kind, as PatternKind lists them.
  std::vector<Pattern> patterns;
  std::vector<CollectiveTiming> timings;  ///< per group in order of sequence numbers
  std::vector<std::string> notes;
};

/// Skew and slow ranks need the clocks; a skew counts beyond what the clocks may be off. The first collective of a
/// group and those of set-up (is_setup) do not count for them: ranks start at different times.
Findings find_patterns(const CollectiveLog& log, const std::map<int, Clock>& clocks,
                       const PatternSettings& settings = {});

}  // namespace stepgauge::replay
