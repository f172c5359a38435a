#include "stats/successive.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

namespace stepgauge::stats {
namespace {

using Sessions = std::vector<std::vector<double>>;

// By hand: differences 2, -1, 3 of 1, 3, 2, 5: squares 4 + 1 + 9 = 14, mean 14 / 3. Mean 2.75, squares about it 8.75.
TEST(Successive, OfFourValuesByHand) {
  const auto out = successive(Sessions{{1, 3, 2, 5}});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->differences, 3u);
  EXPECT_DOUBLE_EQ(out->sd, std::sqrt(14.0 / 3));
  EXPECT_DOUBLE_EQ(out->plain_sd, std::sqrt(8.75 / 3));
  EXPECT_DOUBLE_EQ(out->df, 2.0 * 9 / 8);
  EXPECT_DOUBLE_EQ(*out->ratio, 14.0 / (2 * 8.75));
  EXPECT_DOUBLE_EQ(*out->z, (14.0 / 17.5 - 1) / std::sqrt(2.0 / 15));
}

// Two sessions at far levels: what lies between them is in neither spread.
TEST(Successive, SessionsAreNotComparedWithEachOther) {
  const auto out = successive(Sessions{{1, 3, 2, 5}, {1001, 1003, 1002, 1005}, {7}});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->differences, 6u);
  EXPECT_NEAR(out->sd, std::sqrt(14.0 / 3), 1e-12);
  EXPECT_NEAR(out->plain_sd, std::sqrt(8.75 / 3), 1e-10);
  EXPECT_DOUBLE_EQ(out->df, 2.0 * 36 / 16);
  EXPECT_NEAR(*out->z, std::sqrt(2.0) * (14.0 / 17.5 - 1) / std::sqrt(2.0 / 15), 1e-10);
}

TEST(Successive, ARampIsDriftAndAlternationIsNot) {
  const auto ramp = successive(Sessions{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}});
  EXPECT_DOUBLE_EQ(ramp->sd, 1);
  EXPECT_LT(*ramp->z, -2.326);
  EXPECT_LT(*ramp->ratio, 0.1);
  const auto turns = successive(Sessions{{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}});
  EXPECT_GT(*turns->z, 2.326);
}

TEST(Successive, WithoutSpreadOrWithoutNeighbours) {
  const auto same = successive(Sessions{{0.3, 0.3, 0.3}});
  ASSERT_TRUE(same);
  EXPECT_EQ(same->sd, 0);
  EXPECT_FALSE(same->ratio);
  EXPECT_FALSE(same->z);
  EXPECT_FALSE(successive(Sessions{{1}, {2}, {}}));
  EXPECT_FALSE(successive(Sessions{}));
  EXPECT_THROW(successive(Sessions{{1, std::nan("")}}), std::invalid_argument);
}

// sd^2 is unbiased for twice the variance, and varies as its df says; z is standard: 12 launches, 4000 sessions.
TEST(Successive, OfIndependentNormalValues) {
  std::mt19937_64 random(20261130);
  std::normal_distribution<> normal(0, 2);
  constexpr int rounds = 4000;
  double sum = 0, squares = 0, z_sum = 0, z_squares = 0, df = 0;
  int low = 0;
  for (int i = 0; i < rounds; ++i) {
    std::vector<double> values(12);
    for (auto& value : values) value = normal(random);
    const auto out = successive(Sessions{values});
    const double square = out->sd * out->sd;
    sum += square;
    squares += square * square;
    z_sum += *out->z;
    z_squares += *out->z * *out->z;
    low += *out->z < -2.326;
    df = out->df;
  }
  const double mean = sum / rounds, variance = squares / rounds - mean * mean;
  EXPECT_NEAR(mean, 8, 0.25);
  EXPECT_NEAR(variance, 2 * 64 / df, 0.1 * 2 * 64 / df);
  EXPECT_NEAR(z_sum / rounds, 0, 0.06);
  EXPECT_NEAR(z_squares / rounds, 1, 0.08);
  EXPECT_LT(low, 0.02 * rounds);
}

}  // namespace
}  // namespace stepgauge::stats
