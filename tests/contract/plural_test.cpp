// Nouns with their numbers: "1 launchs" or "rank 0, 2" makes a user doubt the number too.
#include <gtest/gtest.h>

#include <cstdint>

#include "contract/plural.hpp"

namespace stepgauge {
namespace {

TEST(Plural, OnlyOneIsSingular) {
  EXPECT_EQ(plural(0, "row"), "0 rows");
  EXPECT_EQ(plural(1, "row"), "1 row");
  EXPECT_EQ(plural(2, "row"), "2 rows");
  EXPECT_EQ(plural(std::size_t{1}, "more rank"), "1 more rank");
}

TEST(Plural, LargeCountsAreNeitherRoundedNorGrouped) {
  EXPECT_EQ(plural(std::int64_t{1} << 52, "call"), "4503599627370496 calls");
}

TEST(Plural, NumbersOfARecordAreShownWhole) {
  EXPECT_EQ(plural(1.0, "block"), "1 block");
  EXPECT_EQ(plural(12.0, "block"), "12 blocks");
  EXPECT_EQ(plural(2.6, "block"), "3 blocks");
}

TEST(Numbered, NamesEachOne) {
  EXPECT_EQ(numbered("rank", std::vector<int>{3}), "rank 3");
  EXPECT_EQ(numbered("rank", std::vector<std::size_t>{0, 2, 7}), "ranks 0, 2, 7");
}

}  // namespace
}  // namespace stepgauge
