// What a person reads of a confirmation.
#include "report/confirmation_table.hpp"

#include <sstream>

#include "expect_golden.hpp"
#include "nights.hpp"

namespace stepgauge::report {
namespace {

verdict::MeasuredAlarm measured(const std::string& cell, const std::string& metric, double size) {
  verdict::MeasuredAlarm out;
  out.alarm.cell = cell;
  out.alarm.metric = metric;
  out.alarm.alarm_size = size;
  out.good = "1111111111111111111111111111111111111111";
  out.bad = "2222222222222222222222222222222222222222";
  return out;
}

verdict::BisectTest test_of(verdict::BisectAnswer answer, double change) {
  verdict::BisectTest out;
  out.answer = answer;
  out.pairs = 15;
  out.change = change;
  out.ci_lower = change - 0.002;
  out.ci_upper = change + 0.002;
  return out;
}

TEST(ConfirmationTable, Golden) {
  const std::string resnet = "resnet50.b32/eager/fp32/cuda.ddp1-00000001", llama = "llama.b8/eager/bf16-00000002";
  std::vector<verdict::MeasuredAlarm> alarms{
      measured(resnet, "throughput", -0.031), measured(resnet, "first_step_latency", 0.21),
      measured(llama, "throughput", -0.05), measured(llama, "peak_memory", 0.02)};
  alarms[0].test = test_of(verdict::BisectAnswer::different, -0.029);
  alarms[1].test = test_of(verdict::BisectAnswer::same, 0.004);
  alarms[2].test = test_of(verdict::BisectAnswer::unknown, -0.012);
  alarms[2].test->reason = "neither shown to be worse nor to be the same at 1 %";
  alarms[3].good = "";
  alarms[3].alarm.problem = "the repository has no commit v1\x1b[31m, which night x measured";
  testing::Nights nights("throughput", 60);
  nights.add(12, 97);
  const auto text = confirmation_table(alarms, nights.judge(), ExitCode::regression, {});
  testing::expect_golden("confirmation.txt", text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const auto none = confirmation_table({}, testing::Nights("throughput", 40).judge(), ExitCode::nothing_worse, {});
  EXPECT_NE(none.find("nothing blocks (exit code 0)"), std::string::npos) << none;
  EXPECT_NE(none.find("No alarm waits for its confirmation."), std::string::npos) << none;
}

}  // namespace
}  // namespace stepgauge::report
