// The rows of a gate's document come back as they were; anything else is refused by name.
#include "verdict/judged_row.hpp"

#include <gmock/gmock.h>

#include "gate_cells.hpp"
#include "verdict/gate_json.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;

Json gate_document() {
  const auto policy = small_policy();
  const auto gate = judge_gate({pairs_of("throughput", {8, 8.1, 7.9, 8, 8.2}, {8, 8.1, 7.9, 8, 8.2})}, policy);
  GateContext context;
  context.policy = policy;
  return to_json(gate, context);
}

TEST(JudgedRow, OfAGate) {
  const auto rows = judged_rows_of_gate(gate_document(), "gate.json");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].metric, "throughput");
  EXPECT_EQ(rows[0].verdict, Verdict::regressed);
  EXPECT_EQ(rows[0].better, Better::higher);
  EXPECT_NEAR(*rows[0].change, -0.077, 0.01);
  EXPECT_EQ(rows[0].base_cell, rows[0].cell);
}

TEST(JudgedRow, OtherDocumentsAreRefused) {
  const auto refusal = [](const std::function<void(Json&)>& change) -> std::string {
    auto document = gate_document();
    change(document);
    try {
      judged_rows_of_gate(document, "gate.json");
    } catch (const ContractError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal([](Json& d) { d["schema"] = "stepgauge.run"; }),
              ::testing::HasSubstr("not the verdict of a gate"));
  EXPECT_THAT(refusal([](Json& d) { d["version"] = 99; }), ::testing::HasSubstr("version 99"));
  EXPECT_THAT(refusal([](Json& d) { d["rows"][0].erase("change"); }), ::testing::HasSubstr("rows[0]: \"change\""));
  EXPECT_THAT(refusal([](Json& d) { d["rows"][0]["verdict"] = "fine"; }), ::testing::HasSubstr("unknown verdict"));
}

}  // namespace
}  // namespace stepgauge::verdict
