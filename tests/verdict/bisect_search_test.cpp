// Which midpoint comes next, on answers that are made up: unknown ones may widen the result, never make it wrong.
#include "verdict/bisect_search.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <random>

namespace stepgauge::verdict {
namespace {

using Answers = std::vector<std::optional<BisectAnswer>>;

struct Searched {
  CommitRange range;
  std::size_t asked = 0;
};

Searched search(std::size_t commits, const std::function<BisectAnswer(std::size_t)>& answer) {
  Answers answers(commits);
  answers.front() = BisectAnswer::same;
  answers.back() = BisectAnswer::different;
  Searched out;
  while (const auto next = next_midpoint(answers)) {
    EXPECT_FALSE(answers.at(*next)) << "asked twice";
    if (answers.at(*next)) break;
    answers[*next] = answer(*next);
    ++out.asked;
  }
  out.range = commit_range(answers);
  return out;
}

TEST(BisectSearch, FindsEveryFirstBadCommitInLogarithmicallyManyQuestions) {
  for (std::size_t commits = 2; commits <= 40; ++commits) {
    for (std::size_t first_bad = 1; first_bad < commits; ++first_bad) {
      const auto found =
          search(commits, [&](std::size_t i) { return i >= first_bad ? BisectAnswer::different : BisectAnswer::same; });
      EXPECT_TRUE(found.range.found());
      EXPECT_EQ(found.range.first_bad, first_bad) << commits;
      EXPECT_LE(found.asked, 6u);
    }
  }
}

TEST(BisectSearch, UnknownOnesAreSteppedOverAndTheRangeHoldsTheChange) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    const std::size_t commits = 2 + random() % 30, first_bad = 1 + random() % (commits - 1);
    std::vector<char> hidden(commits);
    for (auto& one : hidden) one = random() % 4 == 0;
    const auto found = search(commits, [&](std::size_t i) {
      if (hidden[i]) return i % 2 == 0 ? BisectAnswer::unknown : BisectAnswer::skipped;
      return i >= first_bad ? BisectAnswer::different : BisectAnswer::same;
    });
    EXPECT_LT(found.range.last_good, first_bad);
    EXPECT_GE(found.range.first_bad, first_bad);
    for (auto i = found.range.last_good + 1; i < found.range.first_bad; ++i) EXPECT_TRUE(hidden[i]) << "not asked";
  }
}

TEST(BisectSearch, AfterAnUnknownTheLongestStretchIsHalved) {
  Answers answers(17);
  answers[0] = BisectAnswer::same;
  answers[16] = BisectAnswer::different;
  EXPECT_EQ(next_midpoint(answers), 8u);
  answers[8] = BisectAnswer::unknown;
  EXPECT_THAT(*next_midpoint(answers), testing::AnyOf(4u, 12u));
}

TEST(BisectSearch, NeighboursNeedNoQuestion) {
  EXPECT_FALSE(next_midpoint({BisectAnswer::same, BisectAnswer::different}));
}

/// ddmin over `count` settings, of which all of `needed` together make the difference.
struct Reduced {
  SettingSearch search;
  std::size_t asked = 0;
};
Reduced reduce(std::size_t count, const std::function<BisectAnswer(const SettingSubset&)>& answer) {
  std::map<SettingSubset, BisectAnswer> answers;
  Reduced out;
  for (;;) {
    out.search = next_subset(count, answers);
    if (!out.search.ask) return out;
    EXPECT_FALSE(out.search.ask->empty());
    EXPECT_EQ(answers.count(*out.search.ask), 0u) << "asked twice";
    answers[*out.search.ask] = answer(*out.search.ask);
    if (++out.asked > 1000) return out;
  }
}

bool holds(const SettingSubset& subset, const SettingSubset& needed) {
  return std::includes(subset.begin(), subset.end(), needed.begin(), needed.end());
}

TEST(DeltaDebugging, EveryPairAndEverySingleSettingIsFound) {
  for (std::size_t count = 1; count <= 9; ++count) {
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = a; b < count; ++b) {
        const SettingSubset needed = a == b ? SettingSubset{a} : SettingSubset{a, b};
        const auto found = reduce(count, [&](const SettingSubset& subset) {
          return holds(subset, needed) ? BisectAnswer::different : BisectAnswer::same;
        });
        EXPECT_EQ(found.search.found, needed) << count;
        EXPECT_TRUE(found.search.uncleared.empty());
        EXPECT_LE(found.asked, count * count + 3 * count);
      }
    }
  }
}

TEST(DeltaDebugging, OneSettingNeedsNoQuestion) {
  EXPECT_EQ(reduce(1, [](const SettingSubset&) { return BisectAnswer::same; }).asked, 0u);
}

TEST(DeltaDebugging, WhatCannotBeMeasuredIsNotCleared) {
  // 1 and 3 are needed; without 2 nothing can be launched.
  const auto found = reduce(4, [](const SettingSubset& subset) {
    if (!holds(subset, {2})) return BisectAnswer::skipped;
    return holds(subset, {1, 3}) ? BisectAnswer::different : BisectAnswer::same;
  });
  EXPECT_EQ(found.search.found, (SettingSubset{1, 2, 3}));
  EXPECT_EQ(found.search.uncleared, (SettingSubset{2}));
}

TEST(DeltaDebugging, UnknownEverywhereLeavesEverything) {
  const auto found = reduce(3, [](const SettingSubset&) { return BisectAnswer::unknown; });
  EXPECT_EQ(found.search.found, (SettingSubset{0, 1, 2}));
  EXPECT_EQ(found.search.uncleared.size(), 3u);
}

}  // namespace
}  // namespace stepgauge::verdict
