#include "stats/autocorrelation.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <vector>

#include "series.hpp"

namespace stepgauge::stats {
namespace {

TEST(Autocorrelation, HandComputed) {
  // Mean 2.5, deviations -1.5 -0.5 0.5 1.5: products 0.75 - 0.25 + 0.75 = 1.25, squares 5.
  const auto result = autocorrelation(std::vector<double>{1.0, 2.0, 3.0, 4.0});
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->r1, 0.25);
  EXPECT_DOUBLE_EQ(result->inflation, 5.0 / 3.0);
  EXPECT_DOUBLE_EQ(result->n_eff, 2.4);
}

TEST(Autocorrelation, AlternatingStepsTellMoreThanIndependentOnes) {
  const auto result = autocorrelation(std::vector<double>{1.0, -1.0, 1.0, -1.0});
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->r1, -0.75);
  EXPECT_DOUBLE_EQ(result->n_eff, 28.0);
}

TEST(Autocorrelation, MeasuresAKnownCorrelationBack) {
  for (const double r1 : {0.0, 0.3, 0.8}) {
    const auto result = autocorrelation(test::noise(20000, 100.0, 3.0, r1, 7));
    ASSERT_TRUE(result);
    EXPECT_NEAR(result->r1, r1, 0.03);
  }
}

TEST(Autocorrelation, UnknownWithoutSpreadOrWithTwoValues) {
  EXPECT_FALSE(autocorrelation(std::vector<double>{}));
  EXPECT_FALSE(autocorrelation(std::vector<double>{1.0, 2.0}));
  EXPECT_FALSE(autocorrelation(std::vector<double>(10, 0.1)));
}

TEST(Autocorrelation, NotFiniteThrows) {
  const std::vector<double> values{1.0, std::numeric_limits<double>::quiet_NaN(), 2.0};
  EXPECT_THROW(autocorrelation(values), std::invalid_argument);
}

}  // namespace
}  // namespace stepgauge::stats
