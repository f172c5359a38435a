#include "stats/multiple.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

namespace stepgauge::stats {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<double> unsorted{0.04, 0.001, 0.03, 0.5, 0.0125};

TEST(Holm, StepsDownInTheOrderGiven) {
  // 5 * 0.001, 4 * 0.0125, 3 * 0.03, then 2 * 0.04 = 0.08 raised to 0.09, 1 * 0.5.
  EXPECT_THAT(holm_adjusted(unsorted),
              ElementsAre(DoubleEq(0.09), DoubleEq(0.005), DoubleEq(0.09), DoubleEq(0.5), DoubleEq(0.05)));
}

TEST(BenjaminiHochberg, AgreesWithScipy) {
  // scipy 1.17.1: scipy.stats.false_discovery_control(unsorted)
  EXPECT_THAT(benjamini_hochberg_adjusted(unsorted),
              ElementsAre(DoubleEq(0.05), DoubleEq(0.005), DoubleEq(0.05), DoubleEq(0.5), DoubleEq(0.03125)));
}

TEST(Multiple, OneTestIsNotAdjustedAndNoneIsEmpty) {
  EXPECT_THAT(holm_adjusted(std::vector<double>{0.03}), ElementsAre(0.03));
  EXPECT_THAT(benjamini_hochberg_adjusted(std::vector<double>{0.03}), ElementsAre(0.03));
  EXPECT_THAT(holm_adjusted({}), IsEmpty());
  EXPECT_THAT(benjamini_hochberg_adjusted({}), IsEmpty());
}

TEST(Multiple, AdjustedValuesStayWithinOne) {
  EXPECT_THAT(holm_adjusted(std::vector<double>{0.9, 0.6, 1.0}), ElementsAre(1.0, 1.0, 1.0));
  EXPECT_THAT(benjamini_hochberg_adjusted(std::vector<double>{0.9, 0.6, 1.0}), ElementsAre(1.0, 1.0, 1.0));
}

TEST(Multiple, EqualValuesGetEqualResults) {
  EXPECT_THAT(holm_adjusted(std::vector<double>{0.02, 0.02}), ElementsAre(0.04, 0.04));
  EXPECT_THAT(benjamini_hochberg_adjusted(std::vector<double>{0.02, 0.02}), ElementsAre(0.02, 0.02));
}

TEST(Holm, BoundsTheChanceOfAnyFalseRejection) {
  std::mt19937_64 engine(11);
  std::uniform_real_distribution<double> uniform;
  constexpr int families = 4000;
  int holm = 0;
  int raw = 0;
  for (int family = 0; family < families; ++family) {
    std::vector<double> p_values(20);
    for (double& p : p_values) p = uniform(engine);
    const auto any = [](const std::vector<double>& values) {
      for (const double p : values) {
        if (p <= 0.05) return true;
      }
      return false;
    };
    holm += any(holm_adjusted(p_values));
    raw += any(p_values);
  }
  EXPECT_NEAR(holm, 0.0488 * families, 60);  // 1 - (1 - 0.05 / 20)^20
  EXPECT_GT(raw, families / 2);
}

TEST(Multiple, NotAProbabilityThrows) {
  for (const double bad : {-0.01, 1.01, std::numeric_limits<double>::quiet_NaN()}) {
    const std::vector<double> p_values{0.5, bad};
    EXPECT_THROW(holm_adjusted(p_values), std::invalid_argument);
    EXPECT_THROW(benjamini_hochberg_adjusted(p_values), std::invalid_argument);
  }
}

}  // namespace
}  // namespace stepgauge::stats
