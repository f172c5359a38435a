#include "stats/sign_test.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <vector>

namespace stepgauge::stats {
namespace {

TEST(SignTest, CountsPatternsByHand) {
  EXPECT_NEAR(sign_test_p_above(std::vector<double>{1, 2, 3, 4, -90}), 6.0 / 32, 1e-12);  // 5 + 1 of 2^5
  EXPECT_NEAR(sign_test_p_above(std::vector<double>{1, 2, 3, 4, 5}), 1.0 / 32, 1e-12);
  EXPECT_NEAR(sign_test_p_above(std::vector<double>{1, -2, -3}), 7.0 / 8, 1e-12);
  EXPECT_NEAR(sign_test_p_above(std::vector<double>{0, 1}), 3.0 / 4, 1e-12) << "0 is not positive";
}

TEST(SignTest, NothingPositiveIsNoEvidence) {
  EXPECT_EQ(sign_test_p_above({}), 1.0);
  EXPECT_EQ(sign_test_p_above(std::vector<double>{-1, 0}), 1.0);
}

TEST(SignTest, BrokenContractsThrow) {
  EXPECT_THROW(sign_test_p_above(std::vector<double>{std::numeric_limits<double>::quiet_NaN()}), std::invalid_argument);
}

}  // namespace
}  // namespace stepgauge::stats
