#include "stats/energy_change_point.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "data/tigerbeetle.hpp"
#include "series.hpp"
#include "stats/detail/energy_split.hpp"

namespace stepgauge::stats {
namespace {

struct Published {
  double max_p;
  double min_magnitude;
  std::vector<std::size_t> indices;
};

// Index lists that Apache Otava publishes for this series (window 30).
const std::vector<Published> published{
    {0.01, 0.05, {15, 71}},
    {0.05, 0.05, {15, 71}},
    {0.1, 0.05, {10, 11, 15, 71, 363}},
    {0.2, 0.05, {10, 11, 15, 71}},
    {0.2, 0.0, {3,   6,   7,   10,  11,  13,  15,  16,  28,  29,  35,  37,  39,  41,  44,  48,  49,  56,
                58,  61,  65,  66,  69,  71,  74,  76,  82,  95,  108, 117, 125, 126, 129, 131, 136, 137,
                142, 148, 165, 169, 187, 190, 192, 197, 200, 212, 220, 241, 243, 246, 247, 249, 250, 260,
                265, 266, 268, 278, 282, 288, 305, 306, 325, 330, 337, 338, 340, 347, 349, 363}},
    {0.1, 0.0, {3,   6,   10,  11,  15,  16,  28,  29,  35,  37,  39,  41,  44,  48,  49,  61,  71, 95,
                117, 131, 142, 148, 165, 169, 192, 206, 212, 260, 265, 268, 278, 282, 288, 305, 363}},
    {0.01, 0.0, {15, 26, 61, 71, 95, 117, 131, 142, 148, 165, 169, 192, 212, 260}},
    {0.001, 0.0, {15, 61, 71, 95, 117, 131, 142, 148, 192, 212, 260}},
    {0.0001, 0.0, {71, 95, 117, 131, 142, 148, 192, 212}},
    {1e-05, 0.0, {71, 95, 131, 192, 212}}};

std::vector<std::size_t> indices(const std::vector<EnergyChange>& changes) {
  std::vector<std::size_t> all;
  for (const EnergyChange& change : changes) all.push_back(change.index);
  return all;
}

TEST(EnergyChangesInWindows, FindsWhatOtavaPublishes) {
  for (const Published& list : published) {
    const EnergyWindowRule otava{.window = 30,
                                 .max_p = list.max_p,
                                 .min_magnitude = list.min_magnitude,
                                 .min_segment = 1,
                                 .variant = HunterVariant::as_in_otava};
    EXPECT_EQ(indices(energy_changes_in_windows(test::tigerbeetle, otava)), list.indices)
        << "p " << list.max_p << ", magnitude " << list.min_magnitude;
  }
}

TEST(EnergyChangesInWindows, DefaultsKeepTheLargeStepsOfTigerbeetle) {
  // The two steps that Otava keeps at 5 % under every strict level, and the lone outlier at 10 does not.
  EXPECT_EQ(indices(energy_changes_in_windows(test::tigerbeetle, {.min_magnitude = 0.05})),
            (std::vector<std::size_t>{15, 71}));
}

TEST(EnergyChangesInWindows, ReportsTheLevels) {
  const auto changes =
      energy_changes_in_windows(std::vector<double>{9.0, 10.0, 11.0, 19.0, 20.0, 21.0}, {.max_p = 0.01});
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].index, 3u);
  EXPECT_EQ(changes[0].begin, 0u);
  EXPECT_EQ(changes[0].end, 6u);
  EXPECT_EQ(changes[0].mean_before, 10.0);
  EXPECT_EQ(changes[0].mean_after, 20.0);
  EXPECT_EQ(changes[0].magnitude(), 1.0);
  // t = 10 / sqrt(2 / 3), df = 4; mpmath 1.3.
  EXPECT_NEAR(changes[0].p_value, 0.000255216749441926741, 1e-12);
}

TEST(EnergyChangesInWindows, FindsAStepWhereItIs) {
  auto values = test::noise(90, 100.0, 1.0, 0.0, 5);
  test::raise_from(values, 40, 0.1);
  const auto changes = energy_changes_in_windows(values, {.min_magnitude = 0.05});
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].index, 40u);
  EXPECT_NEAR(changes[0].magnitude(), 0.1, 0.01);
}

TEST(EnergyChangesInWindows, RarelySplitsANoisySeries) {
  constexpr int rounds = 300;
  int split = 0;
  for (int seed = 0; seed < rounds; ++seed) {
    split += !energy_changes_in_windows(test::noise(100, 100.0, 1.0, 0.0, seed)).empty();
  }
  // p does not know of the choice of the place: far above 0.001, which is why it pages nobody.
  EXPECT_LT(split, 0.1 * rounds);
}

TEST(EnergyChangesInWindows, UnitAndDirectionDoNotMatter) {
  std::vector<double> scaled = test::tigerbeetle;
  for (double& value : scaled) value *= 0.125;
  EXPECT_EQ(indices(energy_changes_in_windows(scaled)), indices(energy_changes_in_windows(test::tigerbeetle)));
  for (double& value : scaled) value = -value;
  EXPECT_EQ(indices(energy_changes_in_windows(scaled)), indices(energy_changes_in_windows(test::tigerbeetle)));
}

TEST(EnergyChangesInWindows, CorrelatedValuesNeedALargerStep) {
  const std::vector<double> values{100, 101, 99, 100, 101, 99, 102, 103, 101, 102, 103, 101};
  const auto plain = energy_changes_in_windows(values, {.max_p = 0.01});
  ASSERT_EQ(plain.size(), 1u);
  // t = 2 / sqrt(0.8 (1/6 + 1/6)) = 3.873 with 10 degrees of freedom; with four times the variance it is half of that.
  EXPECT_NEAR(plain[0].p_value, 0.0031, 0.0001);
  EXPECT_TRUE(energy_changes_in_windows(values, {.max_p = 0.01, .inflation = 4}).empty());
  const auto inflated = energy_changes_in_windows(values, {.max_p = 0.1, .inflation = 4});
  ASSERT_EQ(inflated.size(), 1u);
  EXPECT_NEAR(inflated[0].p_value, 0.0815, 0.0005);
}

TEST(EnergyChangesInWindows, ChangesKeepTheirDistance) {
  std::vector<double> values(40, 10.0);
  values[20] = 100.0;
  EXPECT_TRUE(energy_changes_in_windows(values).empty());
  std::fill_n(values.begin() + 20, 8, 100.0);
  EXPECT_EQ(indices(energy_changes_in_windows(values)), (std::vector<std::size_t>{20, 28}));

  // Nor do those of windows that overlap come near to each other.
  const auto changes = energy_changes_in_windows(test::tigerbeetle, {.window = 30, .max_p = 0.2, .min_segment = 5});
  ASSERT_GT(changes.size(), 10u);
  for (const EnergyChange& change : changes) {
    EXPECT_GE(change.index - change.begin, 5u);
    EXPECT_GE(change.end - change.index, 5u);
  }
}

TEST(EnergyChanges, ShuffledSeriesRarelySplitAndStepsDo) {
  constexpr int rounds = 400;
  int split = 0;
  for (int seed = 0; seed < rounds; ++seed) {
    split += !energy_changes(test::noise(30, 0.0, 1.0, 0.0, seed), {.permutations = 19, .min_segment = 2}).empty();
  }
  // (hits + 1) / 20 passes 0.05 with no hit only.
  EXPECT_NEAR(split, 0.05 * rounds, 0.03 * rounds);

  auto values = test::noise(60, 100.0, 1.0, 0.0, 9);
  test::raise_from(values, 20, 0.1);
  test::raise_from(values, 40, -0.2);
  EXPECT_EQ(energy_changes(values, {.alpha = 0.01}), (std::vector<std::size_t>{20, 40}));
}

TEST(EnergyChanges, SeesAChangeOfSpreadAlone) {
  auto values = test::noise(80, 0.0, 1.0, 0.0, 2);
  for (std::size_t i = 40; i < values.size(); ++i) values[i] *= 12.0;
  const auto changes = energy_changes(values);
  ASSERT_FALSE(changes.empty());
  EXPECT_NEAR(static_cast<double>(changes.front()), 40.0, 4.0);
}

TEST(EnergyChanges, NothingToSplit) {
  EXPECT_TRUE(energy_changes({}).empty());
  EXPECT_TRUE(energy_changes(std::vector<double>(30, 1.0)).empty());
  EXPECT_TRUE(energy_changes_in_windows({}).empty());
  EXPECT_TRUE(energy_changes_in_windows(std::vector<double>(30, 1.0)).empty());
  EXPECT_TRUE(energy_changes_in_windows(std::vector<double>{1.0, 2.0}).empty());
}

TEST(EnergySplit, IsTheScaledDistance) {
  // By hand, tau = 3 against all: 2 / 6 * 9 * 10, nothing within.
  const auto split = detail::best_energy_split(std::vector<double>{0.0, 0.0, 0.0, 10.0, 10.0, 10.0}, 1);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->index, 3u);
  EXPECT_EQ(split->distance, 30.0);
  // By hand, two against two: across 3 + 5 + 2 + 4 = 14, within 1 and 2:
  // 2 / 4 * 14 - 2 * 2 / (4 * 1) * 1 - 2 * 2 / (4 * 1) * 2.
  const auto pairs = detail::best_energy_split(std::vector<double>{0.0, 1.0, 3.0, 5.0}, 2);
  ASSERT_TRUE(pairs);
  EXPECT_EQ(pairs->index, 2u);
  EXPECT_NEAR(pairs->distance, 4.0, 1e-14);
  EXPECT_FALSE(detail::best_energy_split(std::vector<double>{0.0, 1.0, 3.0}, 2));
  // No split of one value: all others of these have distance 0.
  EXPECT_NEAR(detail::best_energy_split(std::vector<double>{0.0, 0.0, 50.0, 0.0, 0.0}, 2)->distance, 0.0, 1e-12);
  EXPECT_NEAR(detail::best_energy_split(std::vector<double>{50.0, 0.0, 0.0, 0.0, 0.0}, 2)->distance, 0.0, 1e-12);
  // Of equal splits the first.
  EXPECT_EQ(detail::best_energy_split(std::vector<double>(6, 0.1), 1)->index, 1u);
}

TEST(EnergyChangePoint, BrokenContractsThrow) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values(10, 1.0);
  EXPECT_THROW(energy_changes(std::vector<double>{1.0, nan}), std::invalid_argument);
  EXPECT_THROW(energy_changes_in_windows(std::vector<double>{1.0, nan}), std::invalid_argument);
  EXPECT_THROW(energy_changes(values, {.permutations = 18}), std::invalid_argument);
  EXPECT_THROW(energy_changes(values, {.alpha = 1.0}), std::invalid_argument);
  EXPECT_THROW(energy_changes(values, {.min_segment = 0}), std::invalid_argument);
  for (const EnergyWindowRule& rule :
       {EnergyWindowRule{.window = 1}, EnergyWindowRule{.max_p = 0.0}, EnergyWindowRule{.min_magnitude = -0.1},
        EnergyWindowRule{.min_magnitude = nan}, EnergyWindowRule{.min_segment = 0}, EnergyWindowRule{.inflation = 0.5},
        EnergyWindowRule{.inflation = nan}}) {
    EXPECT_THROW(energy_changes_in_windows(values, rule), std::invalid_argument);
  }
}

}  // namespace
}  // namespace stepgauge::stats
