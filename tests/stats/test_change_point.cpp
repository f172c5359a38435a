#include "stats/change_point.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "series.hpp"

namespace stepgauge::stats {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<double> levels(std::initializer_list<std::pair<int, double>> parts) {
  std::vector<double> values;
  for (const auto& [count, level] : parts) values.insert(values.end(), static_cast<std::size_t>(count), level);
  return values;
}

TEST(ChangePoint, CleanLevelsAreFoundAtTheirPlaces) {
  EXPECT_THAT(find_level_changes(levels({{30, 1.0}, {40, 2.0}})), ElementsAre(30));
  EXPECT_THAT(find_level_changes(levels({{90, 2.0}, {10, 1.0}})), ElementsAre(90));
  EXPECT_THAT(find_level_changes(levels({{40, 1.0}, {50, 3.0}, {60, 2.0}})), ElementsAre(40, 90));
}

TEST(ChangePoint, NoChangeInAFlatOrAShortSeries) {
  EXPECT_THAT(find_level_changes(levels({{100, 1.0}})), IsEmpty());
  EXPECT_THAT(find_level_changes(levels({{9, 1.0}, {10, 2.0}})), IsEmpty());
  EXPECT_THAT(find_level_changes(levels({{10, 1.0}, {10, 2.0}})), ElementsAre(10));
  EXPECT_FALSE(best_split(levels({{100, 1.0}}), 10));
  EXPECT_FALSE(best_split(std::vector<double>{}, 10));
}

TEST(ChangePoint, NoSegmentIsShorterThanAsked) {
  // The change is 5 values before the end, a place that is not allowed.
  const auto split = best_split(levels({{45, 1.0}, {5, 2.0}}), 10);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->index, 40u);
}

TEST(ChangePoint, PValueOfAHandComputedSplit) {
  // Ranks 1 4 2 3 | 8 5 7 6, level means 2.5 and 6.5: between = 8 * 2 * 2 = 32, within = 5 + 5, so
  // t = sqrt(32 / (10 / 6)) = 4.3818, df = 6. Slopes 0.4 and -0.4: residuals -0.9 1.7 -0.7 -0.1 | 0.9 -1.7
  // 0.7 0.1, r1 = (-2.65 - 0.09 - 2.65) / 8.4 = -0.642, corrected (-0.642 + 0.5) / 0.5 < 0, so f = 1. One
  // place. scipy 1.17.1: 2 * scipy.stats.t.sf(math.sqrt(19.2), 6) = 0.004659214943993925
  const auto split = best_split(std::vector<double>{10, 13, 11, 12, 90, 60, 80, 70}, 4);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->index, 4u);
  EXPECT_NEAR(split->p_value, 0.004659214943993925, 1e-12);
}

TEST(ChangePoint, PValueIsMultipliedByThePlaces) {
  // As above with min_segment 2: 8 - 2 * 2 + 1 = 5 places.
  const auto split = best_split(std::vector<double>{10, 13, 11, 12, 90, 60, 80, 70}, 2);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->index, 4u);
  EXPECT_NEAR(split->p_value, 5 * 0.004659214943993925, 1e-12);
}

TEST(ChangePoint, PValueAllowsForCorrelatedNoise) {
  // Independent computation with scipy 1.17.1 (rankdata, t.sf) and numpy.polyfit for the slopes: between 858, within
  // 292, r1 -0.0399 corrected 0.1901, f 1.4694, t 6.6327, df 14.3327, 9 / f places.
  const std::vector<double> values{14, 9,  11, 16, 12, 7,  10, 8,  13, 15, 6,  20,
                                   22, 26, 30, 24, 19, 17, 28, 23, 27, 29, 18, 25};
  const auto split = best_split(values, 8);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->index, 11u);
  EXPECT_NEAR(split->p_value, 6.139741467355359e-05, 1e-12);
}

TEST(ChangePoint, OutliersNeitherMakeNorHideAChange) {
  auto flat = test::noise(100, 100.0, 1.0, 0.0, 3);
  for (const std::size_t i : {55u, 70u, 90u}) flat[i] = 60000.0;
  EXPECT_THAT(find_level_changes(flat), IsEmpty());

  auto shifted = test::noise(100, 100.0, 1.0, 0.0, 3);
  test::raise_from(shifted, 60, 0.1);
  shifted[10] = 60000.0;
  EXPECT_THAT(find_level_changes(shifted), ElementsAre(60));
}

TEST(ChangePoint, DriftIsAChange) {
  std::vector<double> ramp;
  for (int i = 0; i < 100; ++i) ramp.push_back(100.0 + 0.1 * i);
  EXPECT_FALSE(find_level_changes(ramp).empty());
}

TEST(ChangePoint, SeriesWithoutAChangeAreSeldomSplit) {
  constexpr int series = 1000;
  for (const double r1 : {-0.3, 0.0, 0.5}) {
    for (const std::size_t n : {20u, 50u, 100u, 300u}) {
      int split = 0;
      for (int seed = 0; seed < series; ++seed)
        split += !find_level_changes(test::noise(n, 100.0, 10.0, r1, seed)).empty();
      EXPECT_LE(split, series / 20) << "r1 " << r1 << ", n " << n;
      if (r1 == 0.0) {
        EXPECT_LE(split, series / 100) << "alpha is not kept, n " << n;
      }
    }
  }
}

TEST(ChangePoint, KnownShiftsAreFoundNearTheirPlace) {
  constexpr int series = 500;
  for (const double r1 : {0.0, 0.5}) {
    int near = 0;
    for (int seed = 0; seed < series; ++seed) {
      auto values = test::noise(100, 100.0, 1.0, r1, seed);
      test::raise_from(values, 60, 0.04);
      for (const std::size_t change : find_level_changes(values)) near += change >= 58 && change <= 62;
    }
    EXPECT_GE(near, r1 == 0.0 ? series * 98 / 100 : series * 90 / 100) << "r1 " << r1;
  }
}

TEST(ChangePoint, APassingSlowdownIsFoundAtBothEnds) {
  constexpr int series = 300;
  int both = 0;
  for (int seed = 0; seed < series; ++seed) {
    auto values = test::noise(150, 100.0, 1.0, 0.0, seed);
    for (int i = 45; i < 105; ++i) values[i] += 5.0;
    const auto changes = find_level_changes(values);
    const auto near = [](std::size_t change, std::size_t place) { return change + 3 >= place && change <= place + 3; };
    both += changes.size() == 2 && near(changes[0], 45) && near(changes[1], 105);
  }
  EXPECT_GE(both, series * 95 / 100);
}

TEST(ChangePoint, BrokenContractsThrow) {
  std::vector<double> values(40, 1.0);
  EXPECT_THROW(find_level_changes(values, {.min_segment = 1}), std::invalid_argument);
  EXPECT_THROW(find_level_changes(values, {.alpha = 0.0}), std::invalid_argument);
  EXPECT_THROW(find_level_changes(values, {.alpha = 1.0}), std::invalid_argument);
  EXPECT_THROW(best_split(values, 0), std::invalid_argument);
  values[3] = std::numeric_limits<double>::infinity();
  EXPECT_THROW(find_level_changes(values), std::invalid_argument);
  EXPECT_THROW(best_split(values, 10), std::invalid_argument);
}

}  // namespace
}  // namespace stepgauge::stats
