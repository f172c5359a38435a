// What stands in front of a merge: the comment says verdict and action first, shows what was confirmed and folds the
// rest, stays below what a code host takes, and nothing that others wrote acts on it; the XML says the same to a CI
// server.
#include "report/change_report.hpp"

#include <gtest/gtest.h>

#include "expect_golden.hpp"
#include "gate_cells.hpp"
#include "report/detail/escape.hpp"
#include "verdict/compare.hpp"

namespace stepgauge::report {
namespace {

using namespace stepgauge::testing;
using verdict::Verdict;

constexpr const char* hostile =
    "crashed: </details><script>x</script> | @org/team see #12 https://a.example [x](y) ```\n/merge";

verdict::GateRow row(const std::string& cell, const std::string& metric, Verdict verdict, double change) {
  verdict::GateRow out;
  out.cell = cell;
  out.metric = metric;
  out.unit = metric == "throughput" ? "tokens/s" : "s";
  out.better = metric == "throughput" ? Better::higher : Better::lower;
  out.verdict = verdict;
  out.base = 100;
  out.head = 100 * (1 + change);
  out.change = change;
  out.ci_lower = change - 0.004;
  out.ci_upper = change + 0.004;
  out.threshold = 0.02;
  out.mde = 0.011;
  out.pairs = 5;
  return out;
}

verdict::Gate gate_of(std::vector<verdict::GateRow> rows) {
  verdict::Gate out;
  for (const auto& item : rows) out.counts.add(item.verdict, item.change.has_value());
  out.counts.expected = rows.size();
  out.rows = std::move(rows);
  out.cells_expected = out.cells_measured = 2;
  out.suspected = 1;
  out.exit_code = verdict::exit_code_of(out.counts);
  return out;
}

verdict::GateContext context() {
  verdict::GateContext out;
  out.suite = "pr_gate";
  out.suite_path = "configs/pr_gate.yaml";
  out.folder = "runs/g";
  out.created_at = "2026-11-30T10:00:00Z";
  out.base = {"/builds/main"};
  out.head = {"/builds/change", "env:NAME=two words"};
  out.policy.seed = 42;
  out.attempts = 2;
  out.elapsed_s = 583.4;
  out.fingerprint = cpu_machine();
  out.command = {"stepgauge", "gate", "configs/pr_gate.yaml", "--base", "/builds/main", "--head", "env:NAME=two words"};
  out.software = {{"NCCL_ALGO", "(none)", "Ring", 2}};
  out.skipped = {{"llama/ddp8-01234567", "", Status::unsupported, "needs 8 GPUs"},
                 {"x", "", Status::skipped, "not selected"}};
  return out;
}

verdict::Gate mixed_gate() {
  auto confirmed = row("llama.1.1b.b4/eager-00000001", "throughput", Verdict::regressed, -0.051);
  confirmed.stage = verdict::GateStage::confirm;
  confirmed.pairs = 15;
  auto unconfirmed = row("llama.1.1b.b4/eager-00000001", "init_latency", Verdict::inconclusive, 0.09);
  unconfirmed.suspicion = verdict::Suspicion::worse;
  unconfirmed.gateable = false;
  unconfirmed.reason = "noise";
  auto invalid = row("resnet50.b64/eager-00000002", "launches", Verdict::invalid, 0);
  invalid.change = invalid.base = invalid.head = invalid.mde = invalid.threshold = invalid.ci_lower = std::nullopt;
  invalid.reason = hostile;
  auto gate = gate_of({confirmed, unconfirmed, row("llama.1.1b.b4/eager-00000001", "peak_memory", Verdict::pass, 0),
                       row("resnet50.b64/eager-00000002", "throughput", Verdict::improved, 0.04), invalid});
  gate.not_gateable = 1;
  return gate;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ChangeReport, CommentOfAGateGolden) {
  expect_golden("comment.md", comment_markdown(change_report(mixed_gate(), context())));
}

TEST(ChangeReport, JunitOfAGateGolden) {
  expect_golden("junit.xml", junit_xml(change_report(mixed_gate(), context()), {{"llama.1.1b.b4/eager-00000001", 90}}));
}

TEST(ChangeReport, VerdictAndActionBeforeAnythingElse) {
  const auto text = comment_markdown(change_report(mixed_gate(), context()));
  EXPECT_TRUE(text.starts_with("<!-- stepgauge:pr_gate -->\n## stepgauge gate"));
  const auto action = text.find("Do not merge"), counts = text.find("Compared 4 of 5 expected"),
             open = text.find("### Confirmed"), large = text.find("### Looks worse"), folded = text.find("<details>");
  EXPECT_TRUE(action < counts && counts < open && open < large && large < folded && folded != std::string::npos)
      << text;
  EXPECT_LT(text.find("-5.10 %"), large);
  EXPECT_LT(text.find("15 new pairs"), large);
  EXPECT_GT(text.find("peak\\_memory"), folded) << "what passed is open";
  EXPECT_TRUE(contains(text, "--seed 42")) << "the local command would draw another order";
  EXPECT_TRUE(contains(text, "seed 42, attempt 2")) << "attempts are hidden";
  EXPECT_TRUE(contains(text, "baseline save runs/g/head")) << "an improvement proposes no baseline";
}

TEST(ChangeReport, WorseIsByTheMetricsOwnDirection) {
  const auto text =
      comment_markdown(change_report(gate_of({row("slower", "throughput", Verdict::inconclusive, -0.09),
                                              row("faster", "throughput", Verdict::inconclusive, 0.09),
                                              row("later", "init_latency", Verdict::inconclusive, 0.09),
                                              row("sooner", "init_latency", Verdict::inconclusive, -0.09),
                                              row("little", "init_latency", Verdict::inconclusive, 0.01)}),
                                     context()));
  const auto large = text.substr(0, text.find("<details>"));
  for (const auto* cell : {"- slower", "- later"}) EXPECT_TRUE(contains(large, cell)) << text;
  for (const auto* cell : {"faster", "sooner", "little"}) EXPECT_FALSE(contains(large, cell)) << text;
}

TEST(ChangeReport, AdvisoryRowsAreNeitherConfirmedNorFailures) {
  verdict::Comparison comparison;
  comparison.comparable = true;
  for (const bool blocking : {true, false}) {
    auto& added = comparison.rows.emplace_back();
    added.cell = "c";
    added.metric = blocking ? "throughput" : "stall_ratio";
    added.better = blocking ? Better::higher : Better::lower;
    added.blocking = blocking;
    added.change = blocking ? 0.0 : 0.5;
    added.threshold = 0.02;
    added.verdict = blocking ? Verdict::pass : Verdict::regressed;
    (blocking ? comparison.counts : comparison.advisory).add(added.verdict, true);
  }
  comparison.exit_code = verdict::exit_code_of(comparison.counts);
  const auto report = change_report(comparison);
  const auto text = comment_markdown(report);
  EXPECT_FALSE(contains(text.substr(0, text.find("<details>")), "stall")) << text;
  EXPECT_TRUE(contains(text, "regressed (advisory)"));
  EXPECT_TRUE(contains(junit_xml(report), "tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"1\""));
}

TEST(ChangeReport, NothingOfOthersActsOnTheComment) {
  auto hostile_context = context();
  hostile_context.suite = "a --> <b>";
  hostile_context.base = {std::string("worker:") + hostile};
  hostile_context.command = {"stepgauge", "```", "$(reboot)", "--seed", "42"};
  const auto text = comment_markdown(change_report(mixed_gate(), hostile_context));
  for (const auto* part : {"<script>", "@org", "#12", "https://", "[x](y)", "\n/merge"})
    EXPECT_FALSE(contains(text, part)) << part << "\n" << text;
  EXPECT_TRUE(text.starts_with("<!-- stepgauge:a_-____b_ -->\n")) << text.substr(0, 60);
  EXPECT_TRUE(contains(text, "````sh\nstepgauge '```' '$(reboot)' --seed 42\n````")) << text;
}

TEST(ChangeReport, MoreRowsThanACommentTakesAreCounted) {
  std::vector<verdict::GateRow> rows;
  for (int i = 0; i < 3000; ++i) {
    rows.push_back(row("cell/" + std::string(200, '*') + std::to_string(i), "throughput",
                       i % 2 == 0 ? Verdict::regressed : Verdict::inconclusive, -0.05));
    rows.back().reason = std::string(500, '<');
  }
  const auto report = change_report(gate_of(rows), context());
  const auto text = comment_markdown(report);
  EXPECT_LT(text.size(), comment_bytes);
  EXPECT_TRUE(contains(text, " of 1500 are shown here; all are in the JSON document")) << text.substr(0, 3000);
  EXPECT_TRUE(contains(text, "3000 of 3000 expected rows"));
  EXPECT_TRUE(text.ends_with("</details>\n")) << "what says how to repeat it was cut off";
  auto wide = report;
  wide.command = wide.new_baseline = wide.resume = std::string(9000, '`');
  wide.stopped = "ended";
  wide.counts.improved = 1;
  wide.notes.assign(500, std::string(500, '&'));
  wide.software.assign(500, {std::string(500, '<'), std::string(500, '<'), std::string(500, '<'), 1});
  wide.machine = wide.software;
  for (const std::size_t most : {std::size_t{32000}, comment_bytes})
    EXPECT_LE(comment_markdown(wide, most).size(), most);
}

TEST(ChangeReport, EveryExitCodeHasItsAction) {
  const auto text_of = [](std::vector<verdict::GateRow> rows) {
    return comment_markdown(change_report(gate_of(std::move(rows)), context()));
  };
  EXPECT_TRUE(contains(text_of({row("c", "throughput", Verdict::pass, 0)}), "Nothing is worse"));
  EXPECT_TRUE(contains(text_of({row("c", "throughput", Verdict::inconclusive, 0)}), "neither a pass nor a regression"));
  EXPECT_TRUE(contains(text_of({row("c", "throughput", Verdict::invalid, 0)}), "measurements failed"));
  EXPECT_TRUE(contains(text_of({row("c", "throughput", Verdict::missing, 0)}), "1 row of one side only"));
  EXPECT_TRUE(contains(text_of({}), "Nothing was compared"));
  auto stopped = context();
  stopped.interrupted = true;
  stopped.stopped = "the gate was interrupted";
  const auto text = comment_markdown(change_report(gate_of({}), stopped));
  EXPECT_TRUE(contains(text, "INTERRUPTED") && contains(text, "--resume runs/g")) << text;
}

TEST(ChangeReport, NothingComparedIsNoGreenTestReport) {
  EXPECT_TRUE(contains(junit_xml(change_report(gate_of({}), context())),
                       "tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"1\""));
}

TEST(ChangeReport, RefusedComparison) {
  ResultSet base, head;
  base.name = "runs/a";
  head.name = "runs/b";
  const auto report = change_report(verdict::compare(base, head));
  EXPECT_TRUE(contains(comment_markdown(report), "**Not comparable.**"));
  EXPECT_TRUE(contains(junit_xml(report), "<error message=\"not comparable: "));
}

TEST(ChangeReport, XmlHasNoCharacterThatXmlForbids) {
  EXPECT_EQ(detail::xml("a\x01<b a='\"'>&\xef\xbf\xbf"), "a?&lt;b a='&quot;'&gt;&amp;?");
}

TEST(ChangeReport, ShellWords) {
  EXPECT_EQ(detail::shell_words({"a", "", "b c", "it's"}), "a '' 'b c' 'it'\\''s'");
}

}  // namespace
}  // namespace stepgauge::report
