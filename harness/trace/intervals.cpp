#include "trace/intervals.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

namespace stepgauge::trace {
namespace {

bool begins_earlier(const Interval& a, const Interval& b) {
  return a.begin < b.begin;
}

/// Radix sort, lowest digit first: a million intervals of one trace span three digits, a third of what comparing costs.
void radix_sort(std::vector<Interval>& intervals) {
  constexpr int digit_bits = 12;
  constexpr std::uint64_t digits = 1 << digit_bits;
  const auto [first, last] = std::minmax_element(intervals.begin(), intervals.end(), begins_earlier);
  const auto base = static_cast<std::uint64_t>(first->begin);  // differences of unsigned numbers cannot overflow
  const auto range = static_cast<std::uint64_t>(last->begin) - base;
  std::vector<Interval> sorted(intervals.size());
  for (int shift = 0; shift < 64 && (range >> shift) != 0; shift += digit_bits) {
    const auto digit = [base, shift](const Interval& i) {
      return ((static_cast<std::uint64_t>(i.begin) - base) >> shift) % digits;
    };
    std::array<std::size_t, digits> place{};
    for (const auto& interval : intervals) ++place[digit(interval)];
    std::exclusive_scan(place.begin(), place.end(), place.begin(), std::size_t{0});
    for (const auto& interval : intervals) sorted[place[digit(interval)]++] = interval;
    intervals.swap(sorted);
  }
}

/// Activities of a trace come sorted or nearly so; only others pay for a sort.
void sort_by_begin(std::vector<Interval>& intervals) {
  constexpr std::size_t few = 4096;
  if (std::is_sorted(intervals.begin(), intervals.end(), begins_earlier)) return;
  if (intervals.size() < few) {
    std::sort(intervals.begin(), intervals.end(), begins_earlier);
  } else {
    radix_sort(intervals);
  }
}

/// Appends to a set whose intervals all begin no later, so that it stays disjoint and not touching.
void append(IntervalSet& set, const Interval& next) {
  if (!set.empty() && next.begin <= set.back().end) {
    set.back().end = std::max(set.back().end, next.end);
  } else {
    set.push_back(next);
  }
}

/// First interval of `set` that ends after `time`.
IntervalSet::const_iterator first_ending_after(const IntervalSet& set, std::int64_t time) {
  return std::partition_point(set.begin(), set.end(), [time](const Interval& i) { return i.end <= time; });
}

}  // namespace

IntervalSet unite(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.end <= i.begin; });
  sort_by_begin(intervals);
  if (intervals.empty()) return intervals;
  auto last = intervals.begin();
  for (auto next = std::next(last); next != intervals.end(); ++next) {
    if (next->begin <= last->end) {
      last->end = std::max(last->end, next->end);
    } else {
      *++last = *next;
    }
  }
  intervals.erase(std::next(last), intervals.end());
  return intervals;
}

IntervalSet unite(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  out.reserve(a.size() + b.size());
  auto i = a.begin(), j = b.begin();
  while (i != a.end() || j != b.end()) {
    const bool from_a = j == b.end() || (i != a.end() && i->begin <= j->begin);
    append(out, from_a ? *i++ : *j++);
  }
  return out;
}

IntervalSet intersect(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  auto i = a.begin(), j = b.begin();
  while (i != a.end() && j != b.end()) {
    const Interval common{std::max(i->begin, j->begin), std::min(i->end, j->end)};
    if (common.begin < common.end) out.push_back(common);
    if (i->end < j->end) {
      ++i;
    } else {
      ++j;
    }
  }
  return out;
}

IntervalSet subtract(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  auto hole = b.begin();
  for (const auto& whole : a) {
    auto begin = whole.begin;
    while (hole != b.end() && hole->end <= begin) ++hole;
    // The last hole may reach into the next interval of `a`: it is looked at again there.
    for (auto next = hole; next != b.end() && next->begin < whole.end; ++next) {
      if (begin < next->begin) out.push_back({begin, next->begin});
      begin = next->end;
    }
    if (begin < whole.end) out.push_back({begin, whole.end});
  }
  return out;
}

IntervalSet clip(const IntervalSet& set, Interval window) {
  IntervalSet out;
  if (window.end <= window.begin) return out;
  for (auto i = first_ending_after(set, window.begin); i != set.end() && i->begin < window.end; ++i)
    out.push_back({std::max(i->begin, window.begin), std::min(i->end, window.end)});
  return out;
}

IntervalSet gaps(const IntervalSet& set, Interval window) {
  if (window.end <= window.begin) return {};
  return subtract({window}, clip(set, window));
}

std::int64_t length(const IntervalSet& set) {
  std::int64_t sum = 0;
  for (const auto& i : set) sum += i.end - i.begin;
  return sum;
}

}  // namespace stepgauge::trace
