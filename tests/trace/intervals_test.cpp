// Set operations on intervals against a bitmap. When one is wrong, every ratio of a trace is.
#include "trace/intervals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <iostream>
#include <random>

namespace stepgauge::trace {
namespace {

constexpr std::int64_t size = 64;
constexpr std::uint64_t seed = 20240601;
constexpr int rounds = 100'000;
using Bitmap = std::bitset<size>;

Bitmap bitmap(const std::vector<Interval>& intervals) {
  Bitmap out;
  for (const auto& interval : intervals)
    for (auto at = interval.begin; at < interval.end; ++at) out.set(static_cast<std::size_t>(at));
  return out;
}

/// The one set that a bitmap stands for: its runs of ones.
IntervalSet runs(const Bitmap& bits) {
  IntervalSet out;
  for (std::int64_t at = 0; at < size; ++at) {
    if (!bits[static_cast<std::size_t>(at)]) continue;
    if (!out.empty() && out.back().end == at) {
      ++out.back().end;
    } else {
      out.push_back({at, at + 1});
    }
  }
  return out;
}

class Draw {
 public:
  Interval interval() { return {place_(random_), place_(random_)}; }  // half of them empty or reversed
  std::vector<Interval> intervals() {
    std::vector<Interval> out;
    for (int n = count_(random_); n > 0; --n) {
      const auto begin = place_(random_);
      // Short ones leave gaps, zero-length ones must vanish, identical ones must merge.
      out.push_back({begin, std::min(size, begin + length_(random_))});
      if (n % 5 == 0) out.push_back(out.back());
    }
    return out;
  }

 private:
  std::mt19937_64 random_{seed};
  std::uniform_int_distribution<std::int64_t> place_{0, size}, length_{0, 9};
  std::uniform_int_distribution<int> count_{0, 14};
};

std::string text(const IntervalSet& set) {
  std::string out;
  for (const auto& interval : set)
    out += "[" + std::to_string(interval.begin) + ", " + std::to_string(interval.end) + ") ";
  return out;
}

TEST(Intervals, AreTheSetsOfABitmapInAHundredThousandRandomCases) {
  std::cout << "seed " << seed << ", " << rounds << " pairs of sets\n";
  Draw draw;
  for (int round = 0; round < rounds; ++round) {
    const auto raw_a = draw.intervals(), raw_b = draw.intervals();
    const auto a = unite(raw_a), b = unite(raw_b);
    const auto window = draw.interval();
    const auto bits_a = bitmap(raw_a), bits_b = bitmap(raw_b), bits_window = bitmap({window});
    const auto where =
        "round " + std::to_string(round) + ", a " + text(a) + "b " + text(b) + "window " + text({window});
    ASSERT_EQ(a, runs(bits_a)) << where;
    ASSERT_EQ(unite(a, b), runs(bits_a | bits_b)) << where;
    ASSERT_EQ(intersect(a, b), runs(bits_a & bits_b)) << where;
    ASSERT_EQ(subtract(a, b), runs(bits_a & ~bits_b)) << where;
    ASSERT_EQ(clip(a, window), runs(bits_a & bits_window)) << where;
    ASSERT_EQ(gaps(a, window), runs(bits_window & ~bits_a)) << where;
    ASSERT_EQ(length(a), static_cast<std::int64_t>(bits_a.count())) << where;
  }
}

TEST(Intervals, NestedIdenticalTouchingAndEmptyOnesInAnyOrderAreOne) {
  EXPECT_EQ(unite({{50, 60}, {0, 40}, {10, 20}, {0, 40}, {40, 50}, {45, 45}, {90, 80}}), (IntervalSet{{0, 60}}));
}

TEST(Intervals, LargeUnsortedInputIsSortedWhateverItsRange) {
  std::mt19937_64 random(seed);
  for (const int bits : {1, 12, 13, 34, 62}) {
    std::uniform_int_distribution<std::int64_t> begin(-(1LL << bits), 1LL << bits),
        length(0, (1LL << bits) / 5'000 + 2);
    std::vector<Interval> intervals(10'000);
    for (auto& interval : intervals) interval.begin = begin(random);
    for (auto& interval : intervals) interval.end = interval.begin + length(random);
    auto sorted = intervals;
    std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
    EXPECT_EQ(unite(intervals), unite(sorted)) << bits << " bits";
  }
}

TEST(Intervals, NothingHasNoLength) {
  EXPECT_EQ(length(unite(std::vector<Interval>{})), 0);
  EXPECT_EQ(gaps({}, {3, 9}), (IntervalSet{{3, 9}}));
  EXPECT_TRUE(gaps({}, {9, 3}).empty());
  EXPECT_TRUE(clip({{0, 10}}, {4, 4}).empty());
}

TEST(Intervals, NanosecondsOfTheEpochAreExact) {
  constexpr std::int64_t now = 1'780'000'000'123'456'789;
  EXPECT_EQ(length(unite({{now, now + 1}, {now + 2, now + 3}})), 2);
}

}  // namespace
}  // namespace stepgauge::trace
