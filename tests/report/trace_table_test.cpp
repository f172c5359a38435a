// Tables of traces: within the terminal, printable whatever a trace holds, and nothing where numbers are withheld.
#include "report/trace_table.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "report/detail/escape.hpp"
#include "training.hpp"

namespace stepgauge::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using trace::test::Training;
using trace::test::us;

trace::LaunchTraces launch(const Training& training) {
  return trace::analyse("runs/a", {trace::test::train(training)});
}

void expect_tidy(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(detail::columns(line), 100u) << line;
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c != '\x7f') || c < 0) << text;
}

TEST(TraceTable, Show) {
  const auto text = trace_table(trace::view(launch({.sleep_before_optimizer = 20 * us})));
  expect_tidy(text);
  EXPECT_THAT(text, HasSubstr("runs/a: 1 rank, NVIDIA H200"));
  EXPECT_THAT(text, HasSubstr("no call in optimizer"));
  EXPECT_THAT(text, HasSubstr("n/a")) << "overlap without communication";
}

TEST(TraceTable, Diff) {
  const auto text =
      trace_diff_table(trace::diff(launch({}), launch({.sleep_before_optimizer = 20 * us, .extra_copy = true})), 20);
  expect_tidy(text);
  const auto idle = text.find("larger"), copy = text.find("appeared");
  EXPECT_LT(idle, copy) << text;
  EXPECT_THAT(text, HasSubstr("+0.02000 ms of it before multi_tensor_apply_kernel<Adam>"));
  EXPECT_THAT(text, HasSubstr("host there: no call in optimizer"));
  EXPECT_THAT(trace_diff_table(trace::diff(launch({}), launch({})), 20), HasSubstr("nothing changed"));
  EXPECT_THAT(trace_diff_table(trace::diff(launch({}), launch({.extra_copy = true, .extra_kernel = true})), 1),
              HasSubstr("and 1 more"));
}

TEST(TraceTable, NamesOfAnyKind) {
  auto timeline = trace::test::train();
  for (auto& name : timeline.names) name = "\x1b[31m" + std::string(300, 'x') + "\r\n\xff<" + name;
  for (auto& phase : timeline.phases) phase.name = std::string(200, 'p');
  timeline.device_name = std::string(300, 'd');
  timeline.ignored["bell \a"] = 3;
  const auto traces = trace::analyse(std::string(200, 'r'), {timeline});
  expect_tidy(trace_table(trace::view(traces)));
  expect_tidy(trace_diff_table(trace::diff(traces, launch({})), 20));
}

TEST(TraceTable, WithheldNumbersAreNotShown) {
  auto timeline = trace::test::train();
  timeline.dropped = 1;
  const auto broken = trace::analyse("runs/b", {timeline});
  const auto text = trace_table(trace::view(broken));
  EXPECT_THAT(text, HasSubstr("the tracer lost 1 records"));
  EXPECT_THAT(text, Not(HasSubstr("sm90_gemm")));
  EXPECT_THAT(text, Not(HasSubstr("85.")));
  EXPECT_THAT(trace_diff_table(trace::diff(launch({}), broken), 20), HasSubstr("Nothing is compared"));
}

}  // namespace
}  // namespace stepgauge::report
