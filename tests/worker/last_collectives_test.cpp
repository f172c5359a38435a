// How ranks find the one that made another collective: if these fail, a mismatch is blamed on the wrong rank.
#include "worker/parallel/last_collectives.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

namespace stepgauge::worker {
namespace {

using Calls = std::vector<LastCollective>;

TEST(LastCollectives, TheOddRankIsNamedFirst) {
  const Calls usual{{56, "all_reduce", 64}, {57, "all_reduce", 400}},
      odd{{56, "all_reduce", 64}, {57, "all_reduce", 800}};
  EXPECT_EQ(first_difference({usual, odd, usual}),
            "collective 57 differs: all_reduce of 800 bytes on rank 1, all_reduce of 400 bytes on ranks 0, 2");
}

TEST(LastCollectives, ASkippedOneShiftsWhatFollows) {
  const Calls usual{{4, "all_reduce", 8}, {5, "broadcast", 16}, {6, "all_reduce", 8}}, skipped{{4, "broadcast", 16}};
  EXPECT_EQ(first_difference({usual, usual, usual, skipped}),
            "collective 4 differs: broadcast of 16 bytes on rank 3, all_reduce of 8 bytes on ranks 0, 1, 2");
}

TEST(LastCollectives, RanksThatAreAheadOrSilentDoNotDiffer) {
  EXPECT_EQ(first_difference({{{1, "barrier", 0}, {2, "barrier", 0}}, {{1, "barrier", 0}}, {}}), "");
  EXPECT_EQ(first_difference({}), "");
}

TEST(LastCollectives, TheLastOnesAreKept) {
  LastCollectives last;
  EXPECT_TRUE(last.now().empty());
  for (int i = 0; i < 100; ++i) last.add("all_reduce", i);
  const auto now = last.now();
  ASSERT_EQ(now.size(), 64U);
  EXPECT_EQ(now.front().sequence, 36);
  EXPECT_EQ(now.back().bytes, 99);
}

TEST(LastCollectives, RanksCompareThroughTheStore) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::string> said(3);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.emplace_back([&, rank] {
      said[static_cast<std::size_t>(rank)] = compare_through(*store, {{0, "all_reduce", rank == 2 ? 8 : 4}}, rank, 3);
    });
  for (auto& rank : ranks) rank.join();
  for (const auto& one : said)
    EXPECT_EQ(one, "collective 0 differs: all_reduce of 8 bytes on rank 2, all_reduce of 4 bytes on ranks 0, 1");
}

TEST(LastCollectives, ARankThatDoesNotAnswerCostsHalfASecond) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(compare_through(*store, {{0, "all_reduce", 4}}, 0, 2), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
}  // namespace stepgauge::worker
