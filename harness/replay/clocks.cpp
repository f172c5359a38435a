#include "replay/clocks.hpp"

#include <algorithm>
#include <optional>

#include "trace/align.hpp"

namespace stepgauge::replay {
namespace {

bool marks_time(const Record& record, const std::vector<Op>& ops) {
  return record.timed() && ends_together(ops[record.op].kind);
}

std::optional<trace::ClockShift> shift_of(const Stream& stream, const Stream& reference, const std::vector<Op>& ops) {
  std::vector<std::int64_t> behind;
  for (const auto& record : stream.records) {
    if (!marks_time(record, ops)) continue;
    const auto* other = reference.find(stream.sequence(record));
    if (other == nullptr || !marks_time(*other, ops) || !fits(ops[record.op], ops[other->op])) continue;
    const auto difference = other->end - record.end;
    if (is_time(difference)) behind.push_back(difference);
  }
  return trace::clock_shift(std::move(behind));
}

std::size_t timed(const Stream& stream, const std::vector<Op>& ops) {
  return static_cast<std::size_t>(std::count_if(stream.records.begin(), stream.records.end(),
                                                [&](const Record& record) { return marks_time(record, ops); }));
}

/// The stream with most marks of time among those whose clock is known (any, when none is).
const Stream* reference_of(const Group& group, const std::map<int, Clock>& known, const std::vector<Op>& ops) {
  const Stream* out = nullptr;
  std::size_t most = 0;
  for (const auto& stream : group.streams) {
    if (!known.empty() && !known.contains(stream.rank)) continue;
    const auto marks = timed(stream, ops);
    if (marks <= most) continue;
    most = marks;
    out = &stream;
  }
  return out;
}

}  // namespace

std::map<int, Clock> clocks(const CollectiveLog& log) {
  std::map<int, Clock> known;
  // Groups that share no rank with those before may do so with a later one.
  for (bool found = true; found;) {
    found = false;
    for (const auto& group : log.groups) {
      const auto fresh = [&](const Stream& stream) { return !known.contains(stream.rank); };
      if (std::none_of(group.streams.begin(), group.streams.end(), fresh)) continue;
      const auto* reference = reference_of(group, known, log.ops);
      if (reference == nullptr) continue;
      const auto base = known.contains(reference->rank) ? known.at(reference->rank) : Clock{};
      for (const auto& stream : group.streams) {
        if (&stream == reference || !fresh(stream)) continue;
        const auto clock = shift_of(stream, *reference, log.ops);
        if (!clock || !is_time(clock->shift + base.shift)) continue;
        known[stream.rank] = {clock->shift + base.shift, clock->error + base.error};
        known.try_emplace(reference->rank);
        found = true;
      }
    }
  }
  return known;
}

}  // namespace stepgauge::replay
