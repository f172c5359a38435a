#pragma once
// The collectives of a distributed run as data: per process group and rank, in order of sequence numbers. Made by
// reader.hpp from log files (docs/collective_log.md), whoever wrote them.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "replay/names.hpp"

namespace stepgauge::replay {

/// Of a time or size that the log does not have.
inline constexpr std::int64_t not_known = std::numeric_limits<std::int64_t>::min();
/// Of the end of a collective that was seen to begin and not to end.
inline constexpr std::int64_t not_ended = std::numeric_limits<std::int64_t>::max();

/// Times are within 2^62 ns (146 years) of their zero: their differences cannot overflow.
constexpr bool is_time(std::int64_t ns) {
  constexpr std::int64_t limit = std::int64_t{1} << 62;
  return -limit < ns && ns < limit;
}

/// What is called, without when.
struct Op {
  Kind kind = Kind::other;
  std::int64_t bytes = not_known;  ///< of the rank's own input; of a barrier 0
  std::int64_t count = not_known;  ///< elements of it
  std::uint64_t shape = 0;         ///< equal for equal shapes; 0: not known
  std::string dtype;               ///< as dtype_from(); "": not known
  std::string call_site;           ///< phase of the step or text; "": not known

  friend bool operator==(const Op&, const Op&) = default;
};

/// The ranks may call these together: kind, size, element type and shape agree as far as both are known. Where the call
/// comes from does not matter.
bool fits(const Op& a, const Op& b);

/// One collective of one rank.
struct Record {
  std::int64_t enter = not_known;  ///< ns on the rank's clock
  std::int64_t end = not_known;    ///< ns; not_ended, not_known
  std::uint32_t offset = 0;        ///< sequence number - Stream::base
  std::uint32_t op = 0;            ///< index into CollectiveLog::ops

  bool timed() const { return enter != not_known && end != not_known && end != not_ended; }
};

/// The collectives of one rank in one process group, by sequence number, each number once.
struct Stream {
  int rank = 0;
  std::int64_t base = 0;
  std::vector<Record> records;  ///< not empty

  std::int64_t sequence(const Record& record) const { return base + record.offset; }
  std::int64_t first() const { return sequence(records.front()); }
  std::int64_t last() const { return sequence(records.back()); }
  /// nullptr where the rank has no such number.
  const Record* find(std::int64_t sequence) const;
};

struct Group {
  std::string name;             ///< "": the only one
  std::int64_t size = 0;        ///< ranks that belong to it; 0: not known
  std::vector<Stream> streams;  ///< by rank; not empty
};

struct RankLog {
  int rank = 0;
  std::size_t collectives = 0;
  std::size_t messages = 0;          ///< send and recv: counted, not compared
  std::int64_t bytes = 0;            ///< of all whose size is known
  std::size_t unsized = 0;           ///< collectives whose size is not known
  std::int64_t first = 0, last = 0;  ///< sequence numbers, of the group with most of the rank's collectives
  std::string origin;                ///< file
};

struct CollectiveLog {
  std::vector<Op> ops;
  std::vector<Group> groups;     ///< most collectives first
  std::vector<RankLog> ranks;    ///< by rank
  std::int64_t world_size = 0;   ///< 0: not known
  std::size_t files = 0;         ///< that held collectives
  std::size_t unread_lines = 0;  ///< lines that look like a collective's and cannot be understood
  std::string first_unread;      ///< "file:line: what is wrong"
  std::vector<std::string> notes;
};

}  // namespace stepgauge::replay
