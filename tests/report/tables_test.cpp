// Whole tables against golden/*.txt. After a wanted change: STEPGAUGE_UPDATE_GOLDEN=1 test_report_tables, then read the
// diff.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "build_results.hpp"
#include "expect_golden.hpp"
#include "report/baseline_table.hpp"
#include "report/comparison_table.hpp"
#include "report/detail/escape.hpp"
#include "report/run_table.hpp"
#include "verdict/compare.hpp"

namespace stepgauge::report {
namespace {

using namespace stepgauge::testing;

void expect_width(const std::string& text, std::size_t width) {
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto line = text.substr(begin, end - begin);
    EXPECT_LE(detail::columns(line), width) << line;
    begin = end + 1;
  }
}

Samples samples(double factor, std::size_t n = 5) {
  return {{"init_latency", around(4.2, 0.02, n)},
          {"first_step_latency", around(1.1, 0.02, n)},
          {"step_time", around(160 * factor, 0.004, n)},
          {"throughput", around(200 / factor, 0.004, n)},
          {"peak_memory", std::vector<double>(n, 5120)}};
}

Cell llama() {
  auto cell = make_cell({"llama.tiny", "bf16", "eager", 2});
  cell.env["NCCL_P2P_DISABLE"] = "1";
  assign_identity(cell);
  return cell;
}

CellResults llama_results(double factor) {
  auto out = measured(llama(), {{"throughput", around(25000 * factor, 0.003)}, {"step_time", around(80, 0.003)}});
  for (auto& launch : out.launches) launch.metrics["throughput"].unit = "tokens/s";
  return out;
}

ResultSet run() {
  auto crashed = measured(make_cell({.ranks = 2}), samples(1, 2));
  add_failure(crashed, Status::crashed,
              "rank 1 died of signal 9 (SIGKILL) in phase measure, step 17\n\x1b[31mred text of its log");
  crashed.launches.back().detail["evidence"] = {{"folder", "runs/a/launches/0002-resnet50-l2a1"}};
  CellResults oom{make_cell({.precision = "bf16"}), {}};
  add_failure(oom, Status::oom, "out of memory: asked for 2.0 GiB, 139.1 of 139.8 GiB in use");
  auto out = result_set(
      "runs/a", {measured(make_cell(), samples(1, 3)), crashed, oom, measured(slowed(make_cell(), 50), samples(1.5, 3)),
                 llama_results(1), CellResults{make_cell({.ranks = 8}), {}}});
  out.skipped = {
      {"resnet50.b32/eager/tf32/cuda.ddp4-0badcafe", "0badcafe", Status::unsupported, "needs 4 GPUs, 2 here"}};
  return out;
}

TEST(Golden, RunTable) {
  const auto text = run_table(run());
  expect_width(text, 100);
  expect_golden("run_table.txt", text);
}

TEST(Golden, EmptyRun) {
  const auto text = run_table(result_set("runs/empty", {}));
  EXPECT_NE(text.find("nothing was measured"), std::string::npos);
}

verdict::Comparison mixed_comparison() {
  auto base_broken = measured(make_cell({.ranks = 2}), samples(1));
  CellResults head_broken{make_cell({.ranks = 2}), {}};
  add_failure(head_broken, Status::crashed);
  add_failure(head_broken, Status::hung);
  const auto noisy = measured(make_cell({.precision = "bf16"}), {{"throughput", around(300, 0.05, 3)}});
  const auto gone = measured(make_cell({.precision = "tf32"}), samples(1));
  auto base = result_set("baseline unit (2026-11-29)",
                         {measured(make_cell(), samples(1)), base_broken, noisy, gone, llama_results(1)});
  auto head = result_set("runs/b", {measured(slowed(make_cell(), 50), samples(1.5)), head_broken, noisy,
                                    llama_results(1.1), measured(make_cell({.ranks = 4}), samples(1))});
  const auto software = [](ResultSet& set, const std::string& nccl) {
    for (auto& cell : set.cells) {
      for (auto& launch : cell.launches) launch.detail["ranks"] = Json::array({{{"software", {{"nccl", nccl}}}}});
    }
  };
  software(base, "2.18.5");
  software(head, "2.20.5");
  return verdict::compare(base, head);
}

TEST(Golden, Comparison) {
  const auto text = comparison_table(mixed_comparison());
  expect_width(text, 100);
  expect_golden("comparison.txt", text);
  const auto colored = comparison_table(mixed_comparison(), {true, 100});
  EXPECT_NE(colored.find("\x1b[31;1mregressed\x1b[0m"), std::string::npos);
}

TEST(Golden, NothingWorse) {
  const auto set = result_set("runs/a", {measured(make_cell(), samples(1))});
  const auto text = comparison_table(verdict::compare(set, set));
  expect_width(text, 100);
  expect_golden("nothing_worse.txt", text);
}

TEST(Golden, Refused) {
  auto base = result_set("baseline", {measured(make_cell(), samples(1))}), head = base;
  base.fingerprint = gpu_machine("NVIDIA H100");
  head.fingerprint = gpu_machine("NVIDIA H200");
  expect_golden("refused.txt", comparison_table(verdict::compare(base, head)));
}

TEST(Golden, BaselineMarkdown) {
  auto set = run();
  set.cells[0].launches[0].detail["ranks"] =
      Json::array({{{"software", {{"torch", "2.11.0"}, {"nccl", "2.27.5"}, {"odd|<b>", "x"}}}}});
  set.fingerprint = gpu_machine("NVIDIA H200");
  expect_golden("baseline_table.txt",
                baseline_markdown(set, {{"stepgauge", "run", "configs/my suite.yaml", "--note", "a`b"}, "runs/a"}));
}

TEST(Json, RunSummary) {
  const auto json = run_summary_json(run());
  EXPECT_EQ(json["cells"].size(), 6u);
  EXPECT_EQ(json["cells"][1]["ok"], 2);
  EXPECT_EQ(json["cells"][1]["status"], "crashed");
  EXPECT_TRUE(json["cells"][2]["throughput"].is_null());
  EXPECT_EQ(json["cells"][5]["status"], "not run");
  EXPECT_NO_THROW(dump_line(json));
}

TEST(Width, LongIdsAndReasons) {
  auto cell = make_cell();
  for (int i = 0; i < 6; ++i) cell.env["A_RATHER_LONG_VARIABLE_" + std::to_string(i)] = "some_value_of_it";
  assign_identity(cell);
  auto other = make_cell({.ranks = 16});
  auto results = measured(cell, samples(1));
  add_failure(results, Status::hung, std::string(500, 'x') + " " + std::string(300, 'y'));
  const auto set = result_set(std::string(150, 'n'), {results, measured(other, samples(1))});
  const auto text = run_table(set);
  expect_width(text, 100);
  EXPECT_NE(text.find(cell.hash), std::string::npos);
  expect_width(comparison_table(verdict::compare(set, result_set("head", {measured(cell, samples(1.2))}))), 100);
}

}  // namespace
}  // namespace stepgauge::report
