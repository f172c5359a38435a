#include "machine/variables.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace stepgauge::machine {
namespace {

TEST(Variables, OnlyWhatMattersIsRecorded) {
  ::setenv("NCCL_MADE_UP", "a=b", 1);
  ::setenv("MY_PASSWORD", "x", 1);
  const auto recorded = recorded_variables();
  ASSERT_TRUE(recorded.contains("NCCL_MADE_UP"));
  EXPECT_EQ(recorded.at("NCCL_MADE_UP"), "a=b");
  EXPECT_FALSE(recorded.contains("MY_PASSWORD"));
  EXPECT_FALSE(recorded.contains("PATH"));
  EXPECT_TRUE(all_variables().contains("MY_PASSWORD"));
  ::unsetenv("NCCL_MADE_UP");
  ::unsetenv("MY_PASSWORD");
}

TEST(Variables, NamesAreMatchedWhole) {
  EXPECT_TRUE(is_passed_variable("PATH"));
  EXPECT_FALSE(is_passed_variable("PATH_TO_KEY"));
  EXPECT_FALSE(is_passed_variable("MYNCCL_DEBUG"));
  EXPECT_FALSE(is_passed_variable("NCCL"));
  EXPECT_TRUE(is_recorded_variable("TORCH_NCCL_ASYNC_ERROR_HANDLING"));
  EXPECT_FALSE(is_recorded_variable("HOME"));
}

}  // namespace
}  // namespace stepgauge::machine
