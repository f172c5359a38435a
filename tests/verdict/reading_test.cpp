// Verdicts are read back as they were written, and a document that was edited, cut or written by a newer program is
// refused: a report made of it would be green for nothing.
#include <gmock/gmock.h>

#include "build_results.hpp"
#include "gate_cells.hpp"
#include "verdict/compare.hpp"
#include "verdict/gate_json.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Json gate_document() {
  auto lacking = new_gate_cell();
  lacking.unmatched = "not in head: no GPU";
  lacking.head = {};
  const auto gate =
      judge_gate({pairs_of("throughput", {8.1, 7.9, 8, 8.2, 7.8}, {8, 8.1, 7.9, 8.2, 7.8}), lacking}, small_policy());
  GateContext context;
  context.suite = "s";
  context.base = {"self"};
  context.head = {"set:batch=2"};
  context.policy = small_policy();
  context.policy.seed = 7;
  context.budget_s = 60;
  context.command = {"stepgauge", "gate"};
  context.fingerprint = cpu_machine();
  context.skipped = {{"x", "", Status::unsupported, "no GPU"}};
  context.software = {{"NCCL", "2.1", "2.2", 1}};
  return to_json(gate, context);
}

Json comparison_document() {
  const auto cell = make_cell();
  ResultSet base, head;
  base.name = "a";
  head.name = "b";
  base.suite = head.suite = "unit";
  base.fingerprint = head.fingerprint = cpu_machine();
  base.cells = {measured(cell, {{"throughput", {100, 101, 100}}, {"peak_memory", {10, 10, 10}}}),
                measured(make_cell({"llama", "bf16"}), {{"throughput", {5, 5, 5.1}}})};
  head.cells = {measured(cell, {{"throughput", {80, 81, 80}}, {"peak_memory", {10, 10, 10}}})};
  return to_json(compare(base, head));
}

TEST(Reading, AGateIsReadAsItWasWritten) {
  const auto written = gate_document();
  ASSERT_EQ(written.at("exit_code"), 1);
  const auto read = gate_from_json(written, "gate.json");
  EXPECT_EQ(to_json(read.gate, read.context), written);
}

TEST(Reading, AComparisonIsReadAsItWasWritten) {
  const auto written = comparison_document();
  ASSERT_EQ(written.at("exit_code"), 1);
  EXPECT_EQ(to_json(comparison_from_json(written, "c.json")), written);
}

TEST(Reading, RowsTakenOutAreNoPass) {
  auto emptied = gate_document();
  emptied["rows"] = Json::array();
  EXPECT_THAT([&] { gate_from_json(emptied, "gate.json"); },
              ThrowsMessage<ContractError>(HasSubstr("counts are not those of the rows")));
  auto comparison = comparison_document();
  comparison["rows"].erase(0);
  EXPECT_THAT([&] { comparison_from_json(comparison, "c.json"); },
              ThrowsMessage<ContractError>(HasSubstr("edited or cut")));
}

TEST(Reading, AnExitCodeThatTheRowsDoNotComeTo) {
  auto edited = gate_document();
  edited["exit_code"] = 0;
  EXPECT_THAT([&] { gate_from_json(edited, "gate.json"); },
              ThrowsMessage<ContractError>(HasSubstr("the rows come to 1")));
  auto empty = comparison_document();
  empty["rows"] = Json::array();
  for (auto* counts : {&empty["counts"], &empty["advisory"]}) {
    for (auto& count : *counts) count = 0;
  }
  empty["exit_code"] = 0;
  EXPECT_THAT([&] { comparison_from_json(empty, "c.json"); },
              ThrowsMessage<ContractError>(HasSubstr("the rows come to 5")));
}

TEST(Reading, NamesTheFieldAndTheNearestWord) {
  auto wrong = gate_document();
  wrong["rows"][0]["verdict"] = "regresed";
  EXPECT_THAT(
      [&] { gate_from_json(wrong, "g"); },
      ThrowsMessage<ContractError>(HasSubstr("g: row 1: \"verdict\" is \"regresed\"; did you mean \"regressed\"?")));
  auto lacking = gate_document();
  lacking["rows"][0].erase("mde");
  EXPECT_THAT([&] { gate_from_json(lacking, "g"); },
              ThrowsMessage<ContractError>(HasSubstr("row 1: \"mde\" is missing")));
  auto newer = gate_document();
  newer["version"] = gate_version + 1;
  EXPECT_THAT([&] { gate_from_json(newer, "g"); }, ThrowsMessage<ContractError>(HasSubstr("use a newer one")));
  EXPECT_THAT([&] { gate_from_json(comparison_document(), "g"); },
              ThrowsMessage<ContractError>(HasSubstr("expected stepgauge.gate")));
}

}  // namespace
}  // namespace stepgauge::verdict
