#pragma once
// Ranks side by side by sequence numbers: who does what the others do not.
#include <cstdint>
#include <vector>

#include "replay/patterns.hpp"

namespace stepgauge::replay::detail {

/// One sequence number over the ranks of a group.
struct Column {
  std::int64_t sequence = 0;
  std::uint32_t op = 0;       ///< what most ranks call; without a majority what the lowest rank calls
  std::uint32_t present = 0;  ///< ranks that have the number
  std::uint32_t agree = 0;    ///< of them those that call `op`
  std::uint32_t open = 0;     ///< agreeing ranks that have not come out
  std::uint32_t ended = 0;    ///< agreeing ranks that have

  bool majority() const { return 2 * agree > present; }
};

/// How a rank differs from the columns.
struct Deviation {
  std::size_t usable = 0;          ///< records before the rank's numbers are shifted; all when they are not
  std::int64_t shift = 0;          ///< > 0: it skipped so many, < 0: it ran so many more
  std::size_t shifted_at = 0;      ///< column at which that begins
  std::size_t mismatches = 0;      ///< usable records that do not fit
  std::size_t first_mismatch = 0;  ///< column of the first
  std::uint32_t mismatch_op = 0;   ///< what the rank calls there
};

struct Columns {
  std::vector<Column> columns;        ///< by sequence number
  std::vector<Deviation> deviations;  ///< by stream
};

Columns compare_streams(const Group& group, const CollectiveLog& log);

/// silent, stuck, skipped, extra, mismatch.
void find_stream_patterns(const Group& group, const CollectiveLog& log, const Columns& columns, Findings& out);

/// Calls use(i, column) for the first `usable` records of the stream and their columns.
template <typename Use>
void each_record(const Stream& stream, const std::vector<Column>& columns, std::size_t usable, Use&& use) {
  std::size_t column = 0;
  for (std::size_t i = 0; i < usable && i < stream.records.size(); ++i) {
    const auto sequence = stream.sequence(stream.records[i]);
    while (columns[column].sequence < sequence) ++column;
    use(i, column);
  }
}

}  // namespace stepgauge::replay::detail
