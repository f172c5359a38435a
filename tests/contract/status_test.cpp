// Exit codes and statuses: what CI, scripts and old journals read.
#include "contract/status.hpp"

#include <gtest/gtest.h>

#include <set>

namespace stepgauge {
namespace {

TEST(ExitCodes, AreThoseOfTheDocumentation) {
  EXPECT_EQ(static_cast<int>(ExitCode::nothing_worse), 0);
  EXPECT_EQ(static_cast<int>(ExitCode::regression), 1);
  EXPECT_EQ(static_cast<int>(ExitCode::usage), 2);
  EXPECT_EQ(static_cast<int>(ExitCode::measurement_failed), 3);
  EXPECT_EQ(static_cast<int>(ExitCode::inconclusive), 4);
  EXPECT_EQ(static_cast<int>(ExitCode::not_comparable), 5);
}

TEST(Statuses, EveryOneHasANameOfItsOwnAndIsReadBack) {
  std::set<std::string_view> names;
  for (const auto status : all_statuses()) {
    EXPECT_TRUE(names.insert(to_string(status)).second) << to_string(status);
    EXPECT_EQ(status_from_string(to_string(status)), status) << to_string(status);
  }
  EXPECT_EQ(names.size(), 10u);
  EXPECT_EQ(to_string(Status::crashed), "crashed");
  EXPECT_EQ(status_from_string("fine"), std::nullopt);
}

}  // namespace
}  // namespace stepgauge
