#include "contract/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace stepgauge {
namespace {

using testing::HasSubstr;

RankRecord sample_rank() {
  RankRecord record;
  record.cell_id = "cell \"with\" a quote, a\nnewline and \xc3\xa9";
  record.cell_hash = "01234567";
  record.rank = 1;
  record.world_size = 2;
  record.phases_s = {{"build", 0.1 + 0.2}};
  record.step_ms = {1e-300, 1.8e-3, 2.2e-3, 1.7976931348623157e308};
  record.measured_from = 1;
  record.first_step_s = 1.0 / 3;
  record.memory_steady.allocated_mib = 12345.678901234567;
  record.detail["losses"] = {1.5, nullptr};
  return record;
}

TEST(RankRecord, SurvivesARoundTripExactly) {
  const auto text = dump_line(to_json(sample_rank()));
  EXPECT_EQ(dump_line(to_json(rank_record_from_json(parse_json(text, "r"), "r"))), text);
}

std::string error_of(const std::function<void(Json&)>& damage) {
  auto value = to_json(sample_rank());
  damage(value);
  try {
    rank_record_from_json(value, "rank1.json");
  } catch (const ContractError& error) {
    return error.what();
  }
  return "";
}

TEST(RankRecord, DamageIsNamed) {
  EXPECT_THAT(error_of([](Json& v) { v["version"] = 2; }), HasSubstr("record version 2, this program reads up to 1"));
  EXPECT_THAT(error_of([](Json& v) { v["scope"] = "launch"; }), HasSubstr("expected scope \"rank\", found \"launch\""));
  EXPECT_THAT(error_of([](Json& v) { v["status"] = "fine"; }), HasSubstr("unknown status \"fine\""));
  EXPECT_THAT(error_of([](Json& v) { v.erase("cell"); }), HasSubstr("\"cell\" is missing"));
  EXPECT_THAT(error_of([](Json& v) { v["step_ms"][1] = -1; }), HasSubstr("a step time is -1"));
  EXPECT_THAT(error_of([](Json& v) { v["step_ms"] = "fast"; }), HasSubstr("\"step_ms\" has the wrong type (string)"));
  EXPECT_THAT(error_of([](Json& v) { v["measured_from"] = 9; }), HasSubstr("measured_from is 9, there are 4 steps"));
  EXPECT_THAT(error_of([](Json& v) { v["phases_s"]["build"] = -0.5; }), HasSubstr("phase build is -0.5"));
  EXPECT_THAT(error_of([](Json& v) { v["first_step_s"] = std::numeric_limits<double>::quiet_NaN(); }),
              HasSubstr("first_step_s"));
  EXPECT_THAT(error_of([](Json& v) {
                v["wall"] = {{"measured_wall_s", std::numeric_limits<double>::infinity()}};
              }),
              HasSubstr("/wall/measured_wall_s: the number is not finite"));
}

TEST(LaunchRecord, SurvivesARoundTripAndKeepsReasonsOfAbsentMetrics) {
  LaunchRecord record;
  record.cell_id = "a";
  record.cell_hash = "01234567";
  record.status = Status::unsteady;
  record.reason = "the mean moved";
  record.metrics["throughput"] = {123.456, "samples/s", ""};
  record.metrics["mfu"] = {std::nullopt, "%", "no peak is known"};
  record.detail["samples"] = {{"step_ms", {1.0, 2.0}}};
  const auto text = dump_line(to_json(record));
  const auto back = launch_record_from_json(parse_json(text, "l"), "l");
  EXPECT_EQ(dump_line(to_json(back)), text);
  EXPECT_FALSE(back.metrics.at("mfu").value);
  EXPECT_EQ(back.metrics.at("mfu").absent, "no peak is known");
  EXPECT_EQ(back.status, Status::unsteady);
}

TEST(Status, EveryNameIsReadBack) {
  for (const auto status : all_statuses()) EXPECT_EQ(status_from_string(to_string(status)), status);
  EXPECT_FALSE(status_from_string("green"));
}

}  // namespace
}  // namespace stepgauge
