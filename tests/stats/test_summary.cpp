#include "stats/summary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace stepgauge::stats {
namespace {

// Expected values: scipy 1.17.1 and its NumPy (np.var(ddof=1), np.quantile, median_abs_deviation, variation,
// gmean).
const std::vector<double> sample{2.5, 3.1, 4.7, 5.0, 7.4, 9.9, 1.2};
const std::vector<double> none;
const std::vector<double> one{3.0};

TEST(Summary, AgreesWithScipy) {
  EXPECT_NEAR(*mean(sample), 4.828571428571429, 1e-14);
  EXPECT_NEAR(*variance(sample), 8.992380952380953, 1e-13);
  EXPECT_NEAR(*standard_deviation(sample), 2.9987298898668673, 1e-14);
  EXPECT_DOUBLE_EQ(*median(sample), 4.7);
  EXPECT_NEAR(*median_absolute_deviation(sample), 2.2, 1e-14);
  EXPECT_NEAR(*coefficient_of_variation(sample), 0.6210387345878127, 1e-14);
  EXPECT_NEAR(*geometric_mean(sample), 3.986861083872077, 1e-13);
  EXPECT_NEAR(*trimmed_mean(sample, 0.2), 4.54, 1e-13);
}

TEST(Summary, QuantilesAreType7) {
  EXPECT_NEAR(*quantile(sample, 0.05), 1.59, 1e-14);
  EXPECT_NEAR(*quantile(sample, 0.25), 2.8, 1e-14);
  EXPECT_NEAR(*quantile(sample, 0.9), 8.4, 1e-14);
  EXPECT_EQ(*quantile(sample, 0.0), 1.2);
  EXPECT_EQ(*quantile(sample, 1.0), 9.9);
  EXPECT_EQ(*quantile(one, 0.3), 3.0);
}

TEST(Summary, MedianOfAnEvenCountIsTheMiddleOfTheTwo) {
  EXPECT_DOUBLE_EQ(*median(std::vector<double>{9.0, 1.0, 4.0, 2.0}), 3.0);
}

TEST(Summary, TooFewValuesAreUnknownNotZero) {
  for (const auto& result : {mean(none), median(none), quantile(none, 0.5), median_absolute_deviation(none),
                             trimmed_mean(none, 0.1), geometric_mean(none), variance(none), variance(one),
                             standard_deviation(one), coefficient_of_variation(one), ratio_of_sums(none, none)}) {
    EXPECT_FALSE(result.has_value());
  }
}

TEST(Summary, EqualValuesHaveExactlyNoSpread) {
  EXPECT_EQ(*variance(std::vector<double>(7, 0.1)), 0.0);  // 7 * 0.1 / 7 is not 0.1
}

TEST(Summary, GeometricMeanNeedsPositiveValues) {
  EXPECT_FALSE(geometric_mean(std::vector<double>{1.0, 0.0}));
  EXPECT_FALSE(geometric_mean(std::vector<double>{-2.0, -8.0}));
  EXPECT_DOUBLE_EQ(*geometric_mean(std::vector<double>{2.0, 8.0}), 4.0);
}

TEST(Summary, CoefficientOfVariationIsPositiveAndUnknownAroundZero) {
  EXPECT_DOUBLE_EQ(*coefficient_of_variation(std::vector<double>{-1.0, -3.0}), std::sqrt(2.0) / 2.0);
  EXPECT_FALSE(coefficient_of_variation(std::vector<double>{-1.0, 1.0}));
}

TEST(Summary, RatioOfSumsIsNotAMeanOfRatios) {
  const std::vector<double> samples{32.0, 32.0};
  EXPECT_DOUBLE_EQ(*ratio_of_sums(samples, std::vector<double>{1.0, 3.0}), 16.0);
  EXPECT_FALSE(ratio_of_sums(samples, std::vector<double>{1.0, -1.0}));
  EXPECT_THROW(ratio_of_sums(samples, one), std::invalid_argument);
}

TEST(Summary, BrokenContractsThrow) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const std::vector<double> values{1.0, bad, 2.0};
    const std::vector<double> ones(3, 1.0);
    EXPECT_THROW(mean(values), std::invalid_argument);
    EXPECT_THROW(trimmed_mean(values, 0.1), std::invalid_argument);
    EXPECT_THROW(variance(values), std::invalid_argument);
    EXPECT_THROW(standard_deviation(values), std::invalid_argument);
    EXPECT_THROW(quantile(values, 0.5), std::invalid_argument);
    EXPECT_THROW(median(values), std::invalid_argument);
    EXPECT_THROW(median_absolute_deviation(values), std::invalid_argument);
    EXPECT_THROW(coefficient_of_variation(values), std::invalid_argument);
    EXPECT_THROW(geometric_mean(values), std::invalid_argument);
    EXPECT_THROW(ratio_of_sums(values, ones), std::invalid_argument);
    EXPECT_THROW(ratio_of_sums(ones, values), std::invalid_argument);
    EXPECT_THROW(quantile(ones, bad), std::invalid_argument);
  }
  EXPECT_THROW(quantile(one, 1.01), std::invalid_argument);
  EXPECT_THROW(quantile(one, -0.01), std::invalid_argument);
  EXPECT_THROW(trimmed_mean(one, 0.5), std::invalid_argument);
}

}  // namespace
}  // namespace stepgauge::stats
