#include "stats/proportion.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace stepgauge::stats {
namespace {

// Expected values: mpmath 1.3 with 30 digits, quantiles of the beta distribution. 81 of 263 is the example of
// Newcombe 1998, who prints 0.2527 to 0.3676.
TEST(ClopperPearson, AgreesWithTheBetaQuantiles) {
  const auto [lower, upper] = clopper_pearson(81, 263);
  EXPECT_NEAR(lower, 0.252736745585271, 1e-12);
  EXPECT_NEAR(upper, 0.367621922601351, 1e-12);
  EXPECT_NEAR(clopper_pearson(7, 20).lower, 0.153909204784541, 1e-12);
  EXPECT_NEAR(clopper_pearson(7, 20).upper, 0.592188534532828, 1e-12);
  EXPECT_NEAR(clopper_pearson(45, 50, 0.9).lower, 0.801166997483582, 1e-12);
  EXPECT_NEAR(clopper_pearson_upper(7, 20), 0.558034511315489, 1e-12);
}

TEST(ClopperPearson, NoneOrAllStillLeaveDoubt) {
  EXPECT_EQ(clopper_pearson(0, 100).lower, 0.0);
  EXPECT_NEAR(clopper_pearson(0, 100).upper, 1.0 - std::pow(0.025, 0.01), 1e-12);
  EXPECT_NEAR(clopper_pearson_upper(0, 100), 1.0 - std::pow(0.05, 0.01), 1e-12);
  EXPECT_NEAR(clopper_pearson_upper(0, 300), 0.00993608194445771, 1e-12);
  EXPECT_NEAR(clopper_pearson(100, 100).lower, std::pow(0.025, 0.01), 1e-12);
  EXPECT_EQ(clopper_pearson(100, 100).upper, 1.0);
  EXPECT_EQ(clopper_pearson_upper(100, 100), 1.0);
}

TEST(ClopperPearson, FailuresMirrorSuccesses) {
  for (std::size_t k = 0; k <= 12; ++k) {
    EXPECT_NEAR(clopper_pearson(k, 12).lower, 1.0 - clopper_pearson(12 - k, 12).upper, 1e-12) << k;
  }
}

TEST(ClopperPearson, BrokenContractsThrow) {
  EXPECT_THROW(clopper_pearson(0, 0), std::invalid_argument);
  EXPECT_THROW(clopper_pearson(3, 2), std::invalid_argument);
  EXPECT_THROW(clopper_pearson_upper(3, 2), std::invalid_argument);
  for (const double confidence : {0.0, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(clopper_pearson(1, 2, confidence), std::invalid_argument);
    EXPECT_THROW(clopper_pearson_upper(1, 2, confidence), std::invalid_argument);
  }
}

}  // namespace
}  // namespace stepgauge::stats
