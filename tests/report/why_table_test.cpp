// What a person reads of an explanation: what it comes to first, every line within the width, nothing of others' text
// that acts on a terminal.
#include "report/why_table.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace stepgauge::report {
namespace {

using namespace verdict;

WhyLine number(const std::string& name, double base, double head, std::optional<double> share = {}) {
  WhyLine out;
  out.name = name;
  out.unit = "ms";
  out.base = base;
  out.head = head;
  out.share = share;
  return out;
}

WhyLine text(const std::string& name, const std::string& base, const std::string& head) {
  WhyLine out;
  out.name = name;
  out.base_text = base;
  out.head_text = head;
  return out;
}

Why example() {
  Why out;
  out.suite = "s";
  out.base_name = "a/" + std::string(80, 'p');
  out.head_name = "b\x1b[31m";
  out.compared = 8;
  out.worse = 1;
  out.everywhere = {text("nccl", "2.27", std::string(150, 'v'))};
  WhyRow row;
  row.row.cell = "llama.tiny/" + std::string(150, 'x') + "-01234567";
  row.row.base_cell = "another";
  row.row.metric = "throughput";
  row.row.unit = "tokens/s";
  row.row.verdict = Verdict::regressed;
  row.row.base = 1000;
  row.row.head = 900;
  row.row.change = -0.1;
  row.row.ci_lower = -0.11;
  row.row.ci_upper = -0.09;
  WhyPart phases, kernels, collectives;
  phases.kind = WhyKind::phases;
  for (int i = 0; i < 5; ++i) phases.lines.push_back(number("phase " + std::to_string(i), 10, 20 - i, 0.5 - 0.1 * i));
  phases.notes = {"a note " + std::string(120, 'n')};
  kernels.kind = WhyKind::kernels;
  kernels.lines = {number("void very_long_kernel<" + std::string(200, 'k') + ">(int)", 0, 19000)};
  kernels.lines[0].how = "appeared";
  kernels.lines[0].note = "0 -> 4 a step";
  collectives.kind = WhyKind::collectives;
  collectives.absent = "one rank: there are no collectives";
  row.parts = {phases, kernels, collectives, WhyPart{}};
  out.rows = {row};
  WhyPattern pattern;
  pattern.metric = "throughput";
  pattern.separation.kind = SeparationKind::separated;
  pattern.separation.bad = 1;
  pattern.separation.good = 7;
  pattern.separation.conjunctions = {{{"precision", "fp16", true, {}}, {"ddp.ranks", "2", true, {}}}};
  out.patterns = {pattern};
  return out;
}

TEST(WhyTable, PatternsThenPartsWithinTheWidth) {
  const auto shown = why_table(example(), 3, {});
  EXPECT_LT(shown.find("precision=fp16 and ddp.ranks=2"), shown.find("nccl"));
  EXPECT_LT(shown.find("nccl"), shown.find("phase 0"));
  for (const auto* word :
       {"8 rows compared, 1 worse", "-10.0 %", "-11.0..-9.00", "+50.0", "and 2 more (--top)", "appeared",
        "0 -> 4 a step", "one rank: there are no collectives", "the same in both arms", "01234567"})
    EXPECT_NE(shown.find(word), std::string::npos) << word << "\n" << shown;
  EXPECT_EQ(shown.find("phase 3"), std::string::npos);
  EXPECT_EQ(shown.find('\x1b'), std::string::npos);
  std::istringstream lines(shown);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(WhyTable, NothingWorseAndNothingComparedAreSaid) {
  Why good;
  good.compared = 4;
  EXPECT_NE(why_table(good, 8, {}).find("nothing worse"), std::string::npos);
  good.undecided = 2;
  EXPECT_NE(why_table(good, 8, {}).find("--all"), std::string::npos);
  Why none;
  none.refusal = "the machines differ";
  EXPECT_NE(why_table(none, 8, {}).find("nothing to compare: the machines differ"), std::string::npos);
}

}  // namespace
}  // namespace stepgauge::report
