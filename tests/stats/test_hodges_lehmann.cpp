#include "stats/hodges_lehmann.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "series.hpp"

namespace stepgauge::stats {
namespace {

TEST(HodgesLehmann, IsTheMedianOfTheWalshAverages) {
  EXPECT_EQ(hodges_lehmann(std::vector<double>{3.0}), 3.0);
  EXPECT_EQ(hodges_lehmann(std::vector<double>{1.0, 4.0}), 2.5);
  // Averages 1, 1.5, 2, 5.5, 6, 10: by hand (2 + 5.5) / 2.
  EXPECT_EQ(hodges_lehmann(std::vector<double>{1.0, 2.0, 10.0}), 3.75);
  // By hand: the 8th of 0, 1, 1.5, 2, 2, 2.5, 3, 3, 3.5, 4, 4.5, 5.5, 6, 6.5, 9.
  EXPECT_EQ(hodges_lehmann(std::vector<double>{0.0, 2.0, 3.0, 4.0, 9.0}), 3.0);
}

TEST(HodgesLehmann, OneGrossOutlierMovesItLittle) {
  std::vector<double> differences(9, 0.01);
  differences.push_back(1000.0);
  EXPECT_EQ(hodges_lehmann(differences), 0.01);
}

TEST(HodgesLehmann, FollowsShiftScaleSignAndIgnoresOrder) {
  const auto values = test::noise(20, 0.0, 1.0, 0.0, 3);
  auto other = values;
  std::reverse(other.begin(), other.end());
  for (double& value : other) value = 5.0 - 2.0 * value;
  EXPECT_NEAR(hodges_lehmann(other), 5.0 - 2.0 * hodges_lehmann(values), 1e-12);
}

TEST(HodgesLehmann, BrokenContractsThrow) {
  EXPECT_THROW(hodges_lehmann({}), std::invalid_argument);
  EXPECT_THROW(hodges_lehmann(std::vector<double>{1.0, std::numeric_limits<double>::infinity()}),
               std::invalid_argument);
}

}  // namespace
}  // namespace stepgauge::stats
