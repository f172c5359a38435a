#pragma once
// Half-open time intervals in nanoseconds and the set operations that the timeline metrics are made of.
#include <cstdint>
#include <span>
#include <vector>

namespace stepgauge::trace {

struct Interval {
  std::int64_t begin = 0, end = 0;  ///< ns, [begin, end)
  bool operator==(const Interval&) const = default;
  bool empty() const { return end <= begin; }  ///< of something that was looked for: it was not seen
};

/// Sorted, disjoint, not touching, none empty. All functions below return and (but for `unite`) expect this form.
using IntervalSet = std::vector<Interval>;

/// Union of intervals in any order; empty ones (end <= begin) are left out. O(n) in practice (radix sort), least when
/// sorted already.
IntervalSet unite(std::vector<Interval> intervals);
IntervalSet unite(const IntervalSet& a, const IntervalSet& b);
IntervalSet intersect(const IntervalSet& a, const IntervalSet& b);
IntervalSet subtract(const IntervalSet& a, const IntervalSet& b);
/// The part of `set` inside `window`.
IntervalSet clip(const IntervalSet& set, Interval window);
/// The parts of `window` that `set` leaves free.
IntervalSet gaps(const IntervalSet& set, Interval window);
/// |set|, ns.
std::int64_t length(const IntervalSet& set);

}  // namespace stepgauge::trace
