#include "stats/sign_flip.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "series.hpp"

namespace stepgauge::stats {
namespace {

TEST(SignFlip, CountsThePatterns) {
  // By hand: of the 8 sums only 1 + 2 + 4 is >= 7; -1 + 2 + 4 = 5 and more for the second case.
  EXPECT_EQ(sign_flip_p_above(std::vector<double>{1.0, 2.0, 4.0}, 0.0, 1), 1.0 / 8.0);
  EXPECT_EQ(sign_flip_p_above(std::vector<double>{-1.0, 2.0, 4.0}, 0.0, 1), 2.0 / 8.0);
  EXPECT_EQ(sign_flip_p_above(std::vector<double>{-1.0, -2.0, -4.0}, 0.0, 1), 1.0);
  // Patterns counted in Python with whole numbers.
  EXPECT_EQ(sign_flip_p_above(std::vector<double>{12, -24, 13, -5, -3, -10, 4, 8}, 0.0, 1), 145.0 / 256.0);
  const std::vector<double> sleep{1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4};  // Student 1908
  EXPECT_EQ(sign_flip_p_above(sleep, 0.0, 1), 2.0 / 1024.0);
  EXPECT_EQ(sign_flip_p_above(sleep, 1.0, 1), 82.0 / 1024.0);
}

TEST(SignFlip, FivePairsCannotGoBelowOneIn32) {
  EXPECT_EQ(sign_flip_p_above(std::vector<double>{5.0, 5.1, 5.2, 4.9, 5.0}, 0.0, 1), 1.0 / 32.0);
}

TEST(SignFlip, TiesCountAgainstAChange) {
  EXPECT_EQ(sign_flip_p_above(std::vector<double>(5, 0.1), 0.1, 1), 1.0);
  EXPECT_EQ(sign_flip_p_above({}, 0.0, 1), 1.0);
  // 0.1 + 0.2 - 0.3 is 0 but for rounding. By hand: 5 of the 8 sets that may change their sign sum to 0 or less.
  EXPECT_EQ(sign_flip_p_above(std::vector<double>{0.1, 0.2, -0.3}, 0.0, 1), 5.0 / 8.0);
}

TEST(SignFlip, ManyPairsAreSampledNearTheExactShare) {
  // 30 ones: a sum of 30 - 2k has binomial chance; 9 signs reversed leave P(K <= 9) = 22964087 / 2^30.
  std::vector<double> ones(30, 1.0);
  for (int i = 0; i < 9; ++i) ones[3 * i] = -1.0;
  const double exact = 22964087.0 / 1073741824.0;
  const double error = std::sqrt(exact * (1.0 - exact) / 20000.0);
  EXPECT_NEAR(sign_flip_p_above(ones, 0.0, 7), exact, 4.0 * error);
  EXPECT_EQ(sign_flip_p_above(ones, 0.0, 7), sign_flip_p_above(ones, 0.0, 7));
  EXPECT_NE(sign_flip_p_above(ones, 0.0, 7), sign_flip_p_above(ones, 0.0, 8));
  // Never 0: no drawn pattern reaches 100 equal signs.
  EXPECT_EQ(sign_flip_p_above(std::vector<double>(100, 1.0), 0.0, 7), 1.0 / 20001.0);
  // Up to 24 it is exact. 15 ones, 3 of them reversed: P(K <= 3) = 576 / 2^15.
  EXPECT_EQ(sign_flip_p_above(std::vector<double>(24, 1.0), 0.0, 7), 1.0 / 16777216.0);
  std::vector<double> fifteen(15, 1.0);
  for (int i = 0; i < 3; ++i) fifteen[5 * i] = -1.0;
  EXPECT_EQ(sign_flip_p_above(fifteen, 0.0, 7), 576.0 / 32768.0);
  // Two values that matter, on both sides of the 64th: neither may change its sign.
  std::vector<double> last_two(65, 0.0);
  std::fill(last_two.begin() + 63, last_two.end(), 1.0);
  EXPECT_NEAR(sign_flip_p_above(last_two, 0.0, 7), 0.25, 4.0 * std::sqrt(0.25 * 0.75 / 20000.0));
  std::vector<double> late(100, 0.0);
  std::fill(late.begin() + 90, late.end(), 1.0);
  EXPECT_NEAR(sign_flip_p_above(late, 0.0, 7), 1.0 / 1024.0, 4.0 * std::sqrt(1.0 / 1024.0 / 20000.0));
}

TEST(SignFlip, UnitAndOrderDoNotMatter) {
  for (const std::size_t n : {9u, 14u, 24u, 25u, 70u}) {
    const auto values = test::noise(n, 0.2, 1.0, 0.0, n);
    auto other = values;
    std::reverse(other.begin(), other.end());
    for (double& value : other) value *= 1024.0;
    EXPECT_EQ(sign_flip_p_above(values, 0.125, 3), sign_flip_p_above(other, 128.0, 3)) << n;
  }
}

TEST(SignFlip, KeepsItsLevelWhateverTheSymmetricNoise) {
  constexpr int rounds = 2000;
  int found = 0;
  for (int seed = 0; seed < rounds; ++seed) {
    auto values = test::noise(8, 0.0, 1.0, 0.0, seed);
    for (double& value : values) value = value * value * value;  // symmetric, with heavy tails
    found += sign_flip_p_above(values, 0.0, 1) <= 0.05;
  }
  // 12 of 256 patterns fit into 0.05.
  EXPECT_NEAR(found, 12.0 / 256.0 * rounds, 0.015 * rounds);
}

TEST(SignFlip, BrokenContractsThrow) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THROW(sign_flip_p_above(std::vector<double>{1.0, infinity}, 0.0, 1), std::invalid_argument);
  EXPECT_THROW(sign_flip_p_above(std::vector<double>{1.0, 2.0}, infinity, 1), std::invalid_argument);
}

}  // namespace
}  // namespace stepgauge::stats
