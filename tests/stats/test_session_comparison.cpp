#include "stats/session_comparison.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

namespace stepgauge::stats {
namespace {

using Sessions = std::vector<std::vector<double>>;

// By hand: sessions {1, 3} and {5, 7}: within 2 + 2 = 4 with 2 df, sigma_L^2 = 2; the mean square
// between is 2 (2^2 + 2^2) / 1 = 16, n_0 = 2, sigma_S^2 = (16 - 2) / 2 = 7. Head {6}: SE^2 = 7 (1 + 8 / 16) + 2 (1 + 1
// / 4) = 13.
TEST(SessionComparison, ByHand) {
  const auto out = compare_to_sessions(Sessions{{1, 3}, {5, 7}}, std::vector<double>{6}, Scale::points);
  ASSERT_TRUE(out);
  EXPECT_DOUBLE_EQ(out->diff, 2);
  EXPECT_NEAR(*out->standard_error, std::sqrt(13.0), 1e-12);
  EXPECT_DOUBLE_EQ(*out->df, 1);
  EXPECT_EQ(out->n_base, 4u);
  EXPECT_EQ(out->n_head, 1u);
  EXPECT_FALSE(out->exact);
}

TEST(SessionComparison, OneLaunchASessionCountsAsSessionNoise) {
  // Variance of 1, 3, 5 is 4: SE^2 = 4 (1 + 1 / 3).
  const auto out = compare_to_sessions(Sessions{{1}, {3}, {5}}, std::vector<double>{4, 4}, Scale::points);
  ASSERT_TRUE(out);
  EXPECT_NEAR(*out->standard_error, std::sqrt(16.0 / 3), 1e-12);
  EXPECT_DOUBLE_EQ(*out->df, 2);
}

TEST(SessionComparison, WithoutSpreadItIsThePlainComparison) {
  const auto exact = compare_to_sessions(Sessions{{5, 5}, {5}}, std::vector<double>{6, 6}, Scale::points);
  EXPECT_TRUE(exact->exact);
  EXPECT_DOUBLE_EQ(exact->diff, 1);
  const auto uneven = compare_to_sessions(Sessions{{5, 5}, {5}}, std::vector<double>{6, 7}, Scale::points);
  EXPECT_TRUE(uneven->standard_error.has_value());
}

TEST(SessionComparison, WhatCannotBeCompared) {
  EXPECT_FALSE(compare_to_sessions(Sessions{{1, 2, 3}}, std::vector<double>{2}, Scale::points));
  EXPECT_FALSE(compare_to_sessions(Sessions{{1}, {}}, std::vector<double>{2}, Scale::points));
  EXPECT_FALSE(compare_to_sessions(Sessions{{1}, {2}}, std::vector<double>{}, Scale::points));
  EXPECT_FALSE(compare_to_sessions(Sessions{{1}, {0}}, std::vector<double>{2}, Scale::ratio));
  EXPECT_THROW(compare_to_sessions(Sessions{{1}, {std::nan("")}}, std::vector<double>{2}, Scale::points),
               std::invalid_argument);
}

// Five sessions whose level wanders by twice the launch noise: the 95 % interval of an unchanged program covers 0 in
// about 95 % of the cases, that of the plain comparison in far fewer.
TEST(SessionComparison, TheIntervalCoversWhatSessionsDo) {
  std::mt19937_64 random(7);
  std::normal_distribution<> normal;
  int covered = 0, plain_covered = 0;
  constexpr int rounds = 2000;
  for (int i = 0; i < rounds; ++i) {
    Sessions sessions;
    std::vector<double> all, head;
    for (int k = 0; k < 5; ++k) {
      auto& session = sessions.emplace_back();
      const double level = 100 + 2 * normal(random);
      for (int j = 0; j < 4; ++j) session.push_back(level + normal(random));
      all.insert(all.end(), session.begin(), session.end());
    }
    const double level = 100 + 2 * normal(random);
    for (int j = 0; j < 4; ++j) head.push_back(level + normal(random));
    const auto covers = [](const TwoSample& sample) {
      const auto interval = confidence_interval(sample, 0.95);
      return interval->lower <= 0 && interval->upper >= 0;
    };
    covered += covers(*compare_to_sessions(sessions, head, Scale::points));
    plain_covered += covers(*compare(all, head, Scale::points));
  }
  EXPECT_NEAR(covered / double(rounds), 0.95, 0.02);
  EXPECT_LT(plain_covered / double(rounds), 0.75);
}

}  // namespace
}  // namespace stepgauge::stats
