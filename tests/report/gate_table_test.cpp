// What a person reads of a gate: verdict first, every line within the width, nothing of others' text that acts on a
// terminal.
#include "report/gate_table.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace stepgauge::report {
namespace {

verdict::GateRow row(const std::string& cell, const std::string& metric, verdict::Verdict verdict) {
  verdict::GateRow out;
  out.cell = cell;
  out.metric = metric;
  out.verdict = verdict;
  return out;
}

TEST(GateTable, VerdictFirstAndWithinTheWidth) {
  verdict::Gate gate;
  gate.rows = {row("llama.tiny.b2/" + std::string(150, 'x') + "-01234567", "throughput", verdict::Verdict::regressed),
               row("b", "init_latency", verdict::Verdict::invalid), row("b", "throughput", verdict::Verdict::invalid)};
  gate.rows[0].change = -0.05;
  gate.rows[0].threshold = 0.02;
  gate.rows[0].mde = 0.011;
  gate.rows[0].pairs = 15;
  gate.rows[0].stage = verdict::GateStage::confirm;
  gate.rows[1].reason = gate.rows[2].reason =
      "head: 5 of 5 launches failed, first: crashed \x1b[31m" + std::string(120, 'y');
  gate.exit_code = ExitCode::regression;
  verdict::GateContext context;
  context.suite = "s";
  context.base = {"self"};
  context.head = {"worker:" + std::string(120, 'w'), "set:batch=2"};
  context.policy.seed = 42;
  context.attempts = 2;
  const auto text = gate_table(gate, context, {});
  EXPECT_LT(text.find("REGRESSED (exit code 1)"), text.find("throughput"));
  for (const auto* word : {"seed 42, attempt 2", "-5.00", "1.1", "15 new", "+ set:batch=2", "2 metrics", "01234567"})
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace stepgauge::report
