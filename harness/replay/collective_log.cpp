#include "replay/collective_log.hpp"

#include <algorithm>

namespace stepgauge::replay {

bool fits(const Op& a, const Op& b) {
  if (a.kind != b.kind) return false;
  if (!equal_sizes(a.kind)) return true;
  const bool sizes = a.bytes == b.bytes || a.bytes == not_known || b.bytes == not_known;
  const bool counts = a.count == b.count || a.count == not_known || b.count == not_known;
  const bool types = a.dtype == b.dtype || a.dtype.empty() || b.dtype.empty();
  const bool shapes = a.shape == b.shape || a.shape == 0 || b.shape == 0;
  return sizes && counts && types && shapes;
}

const Record* Stream::find(std::int64_t sequence) const {
  if (sequence < first() || sequence > last()) return nullptr;
  const auto offset = static_cast<std::uint32_t>(sequence - base);
  // Nearly every log is without gaps: then the place is known.
  const auto guess = std::min<std::size_t>(offset - records.front().offset, records.size() - 1);
  if (records[guess].offset == offset) return &records[guess];
  const auto at = std::lower_bound(records.begin(), records.end(), offset,
                                   [](const Record& record, std::uint32_t value) { return record.offset < value; });
  return at != records.end() && at->offset == offset ? &*at : nullptr;
}

}  // namespace stepgauge::replay
