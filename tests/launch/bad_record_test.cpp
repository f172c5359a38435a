// A record that cannot be trusted is refused, with the reason, whatever the exit code says.
#include <gmock/gmock.h>

#include "launch_support.hpp"

namespace stepgauge::launch::test {
namespace {

using ::testing::HasSubstr;

struct BadRecord {
  std::string mode, reason;
};

class BadRecordTest : public LaunchTest, public ::testing::WithParamInterface<BadRecord> {};

TEST_P(BadRecordTest, IsCrashedWithTheReason) {
  const auto outcome = launch_stub(small_cell(1), {"--mode", GetParam().mode});
  EXPECT_EQ(outcome.status, Status::crashed);
  EXPECT_THAT(outcome.reason, HasSubstr("exited with 0; its record is refused: "));
  EXPECT_THAT(outcome.reason, HasSubstr(GetParam().reason));
  ASSERT_EQ(outcome.ranks.size(), 1u);
  EXPECT_FALSE(outcome.ranks[0].record);
  EXPECT_THAT(outcome.ranks[0].record_error, HasSubstr(GetParam().reason));
  EXPECT_THAT(outcome.evidence.at("ranks")[0].at("record_error").get<std::string>(), HasSubstr(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(
    Every, BadRecordTest,
    ::testing::Values(BadRecord{"half-line", "rank0.json: not valid JSON"},
                      BadRecord{"two-records", "rank0.json: not valid JSON"},
                      BadRecord{"nan", "rank0.json: not valid JSON"}, BadRecord{"text", "rank0.json: not valid JSON"},
                      BadRecord{"empty", "rank0.json is empty"}, BadRecord{"negative-time", "a step time is -1"},
                      BadRecord{"other-cell", "it is of another cell: hash \"00000000\""},
                      BadRecord{"other-rank", "it is of rank 1, expected 0"},
                      BadRecord{"other-launch", "it is of launch 5, expected 4"},
                      BadRecord{"newer-schema", "record version 2, this program reads up to 1"},
                      BadRecord{"huge", "at most 67108864 are read"},
                      BadRecord{"deep", "nested deeper than 200 levels"}, BadRecord{"folder", "found a folder"},
                      BadRecord{"fifo", "found a special file"}),
    [](const auto& info) {
      auto name = info.param.mode;
      std::erase(name, '-');
      return name;
    });

TEST_F(LaunchTest, OneBadRecordOfSeveralNamesItsRank) {
  const auto outcome = launch_stub(small_cell(3), {"--mode", "half-line", "--rank", "2"});
  EXPECT_EQ(outcome.status, Status::crashed);
  EXPECT_THAT(outcome.reason, ::testing::StartsWith("rank 2 exited with 0; its record is refused"));
  EXPECT_TRUE(outcome.ranks[0].record);
}

}  // namespace
}  // namespace stepgauge::launch::test
