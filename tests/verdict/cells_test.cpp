// Which cells are compared at all, and what happens to those that are not: nothing may drop out silently.
#include <gtest/gtest.h>

#include "build_results.hpp"
#include "verdict/compare.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;

const std::vector<double> steady = around(1000, 0.002, 3);

CellResults good(const Cell& cell, double factor = 1) {
  auto values = steady;
  for (auto& value : values) value *= factor;
  return measured(cell, {{"throughput", values}});
}

// C16: the summary is over matched cells alone; the other cell is missing and fails.
TEST(Cells, MissingCellIsNotInTheMeanAndFails) {
  const auto a = make_cell(), b = make_cell({.ranks = 2});
  const auto base = result_set("base", {good(a), good(b, 100)});
  const auto out = compare(base, result_set("head", {good(a)}));
  ASSERT_EQ(out.summaries.size(), 1u);
  EXPECT_NEAR(out.summaries[0].change, 0, 1e-12);
  EXPECT_EQ(out.summaries[0].cells, 1u);
  ASSERT_EQ(out.only_in_base.size(), 1u);
  EXPECT_EQ(out.only_in_base[0].id, b.id);
  EXPECT_EQ(out.counts.missing, 1u);
  EXPECT_EQ(out.counts.expected, 2u);
  EXPECT_EQ(out.exit_code, ExitCode::not_comparable);
}

TEST(Cells, SkippedCellIsMissingWithItsReason) {
  const auto a = make_cell(), b = make_cell({.ranks = 2});
  auto head = result_set("head", {good(a)});
  head.skipped.push_back({b.id, b.hash, Status::unsupported, "needs 2 GPUs, 1 here"});
  const auto out = compare(result_set("base", {good(a), good(b)}), head);
  EXPECT_NE(out.only_in_base.at(0).reason.find("needs 2 GPUs"), std::string::npos);
  EXPECT_EQ(out.exit_code, ExitCode::not_comparable);
}

TEST(Cells, SelectionTakesCellsOut) {
  const auto a = make_cell(), b = make_cell({.ranks = 2});
  Policy policy;
  policy.selected = [](const Cell& cell) { return cell.ddp.ranks == 1; };
  const auto out = compare(result_set("base", {good(a), good(b)}), result_set("head", {good(a)}), policy);
  EXPECT_EQ(out.exit_code, ExitCode::nothing_worse);
  EXPECT_EQ(out.cells_excluded, 1u);
}

TEST(Cells, NewCellIsListedAndFailsNothing) {
  const auto a = make_cell(), b = make_cell({.ranks = 2});
  const auto out = compare(result_set("base", {good(a)}), result_set("head", {good(a), good(b)}));
  EXPECT_EQ(out.only_in_head.at(0).id, b.id);
  EXPECT_EQ(out.exit_code, ExitCode::nothing_worse);
}

// C18: no cell in common is a failure with its own code.
TEST(Cells, NothingInCommonIsNotComparable) {
  const auto out =
      compare(result_set("base", {good(make_cell())}), result_set("head", {good(make_cell({.ranks = 2}))}));
  EXPECT_EQ(out.exit_code, ExitCode::not_comparable);
  EXPECT_EQ(out.counts.compared, 0u);
  EXPECT_EQ(compare(result_set("base", {}), result_set("head", {})).exit_code, ExitCode::not_comparable);
  EXPECT_EQ(compare(result_set("base", {}), result_set("head", {good(make_cell())})).exit_code,
            ExitCode::not_comparable);
}

// C18: another GPU model is refused with the field; missing machine data is never equal.
TEST(Cells, MachinesMustAgree) {
  auto base = result_set("base", {good(make_cell())}), head = base;
  base.fingerprint = gpu_machine("NVIDIA H100");
  head.fingerprint = gpu_machine("NVIDIA H200");
  const auto out = compare(base, head);
  EXPECT_EQ(out.exit_code, ExitCode::not_comparable);
  ASSERT_EQ(out.machine.size(), 1u);
  EXPECT_EQ(out.machine[0].field, "gpus.0.model");
  EXPECT_NE(out.refusal.find("gpus.0.model (NVIDIA H100 / NVIDIA H200)"), std::string::npos) << out.refusal;
  EXPECT_TRUE(out.rows.empty());
  Policy policy;
  policy.allow_different_machine = true;
  const auto allowed = compare(base, head, policy);
  EXPECT_EQ(allowed.exit_code, ExitCode::nothing_worse);
  EXPECT_EQ(allowed.machine.size(), 1u);  // and shown
  base.fingerprint = Json::object();
  EXPECT_EQ(compare(base, head, policy).exit_code, ExitCode::not_comparable);
  EXPECT_EQ(compare(head, base, policy).exit_code, ExitCode::not_comparable);
  head.fingerprint = Json::object();
  EXPECT_EQ(compare(base, head, policy).exit_code, ExitCode::not_comparable);
}

TEST(Cells, NoOkLaunchIsInvalidWithTheStatuses) {
  const auto cell = make_cell();
  CellResults broken{cell, {}};
  add_failure(broken, Status::oom);
  add_failure(broken, Status::crashed);
  const auto out = compare(result_set("base", {good(cell)}), result_set("head", {broken}));
  EXPECT_EQ(out.rows.at(0).verdict, Verdict::invalid);
  EXPECT_NE(out.rows.at(0).reason.find("1 oom, 1 crashed"), std::string::npos) << out.rows.at(0).reason;
  EXPECT_EQ(out.exit_code, ExitCode::measurement_failed);
}

TEST(Cells, FailedLaunchesNeverFeedNumbers) {
  const auto cell = make_cell();
  auto head = good(cell);
  auto wrong = head.launches.front();
  wrong.launch = 3;
  wrong.status = Status::incorrect;
  wrong.metrics["throughput"].value = 1;
  head.launches.push_back(wrong);
  const auto out = compare(result_set("base", {good(cell)}), result_set("head", {head}));
  EXPECT_EQ(out.rows.at(0).head.n, 3u);
  EXPECT_EQ(out.rows.at(0).verdict, Verdict::pass);
}

TEST(Cells, MoreFailuresThanBaseIsInvalid) {
  const auto cell = make_cell();
  auto head = good(cell);
  add_failure(head, Status::crashed);
  const auto out = compare(result_set("base", {good(cell)}), result_set("head", {head}));
  ASSERT_EQ(out.rows.size(), 2u);
  EXPECT_EQ(out.rows[0].verdict, Verdict::pass);
  EXPECT_EQ(out.rows[1].metric, launches_row);
  EXPECT_EQ(out.rows[1].verdict, Verdict::invalid);
  EXPECT_EQ(out.exit_code, ExitCode::measurement_failed);
  EXPECT_EQ(compare(result_set("base", {head}), result_set("head", {head})).exit_code, ExitCode::nothing_worse);
  EXPECT_EQ(compare(result_set("base", {head}), result_set("head", {good(cell)})).exit_code, ExitCode::nothing_worse);
}

// C18: a run that others disturbed is inconclusive, not regressed and not invalid.
TEST(Cells, DisturbedIsInconclusive) {
  const auto cell = make_cell();
  CellResults head{cell, {}};
  add_failure(head, Status::disturbed);
  add_failure(head, Status::disturbed);
  const auto out = compare(result_set("base", {good(cell)}), result_set("head", {head}));
  EXPECT_EQ(out.rows.at(0).verdict, Verdict::inconclusive);
  EXPECT_EQ(out.exit_code, ExitCode::inconclusive);
}

TEST(Cells, BrokenOnBothSidesIsSaid) {
  const auto fine = make_cell(), big = make_cell({.ranks = 2});
  CellResults oom{big, {}};
  add_failure(oom, Status::oom);
  const auto out = compare(result_set("base", {good(fine), oom}), result_set("head", {good(fine), oom}));
  EXPECT_EQ(out.exit_code, ExitCode::nothing_worse);
  EXPECT_NE(out.notes.at(0).find("no ok launch on either side: " + big.id), std::string::npos);
}

TEST(Cells, PerturbedHeadIsComparedWithItsPlainCell) {
  const auto cell = make_cell();
  const auto slow = slowed(cell, 50);
  ASSERT_NE(cell.hash, slow.hash);
  const auto base = result_set("base", {good(cell)});
  const auto head = result_set("head", {good(slow, 1 / 1.5)});
  const auto out = compare(base, head);
  EXPECT_EQ(out.exit_code, ExitCode::regression);
  EXPECT_TRUE(out.rows.at(0).perturbed);
  EXPECT_EQ(out.rows.at(0).base_cell, cell.id);
  EXPECT_EQ(out.rows.at(0).cell, slow.id);
  Policy strict;
  strict.match_perturbed = false;
  EXPECT_EQ(compare(base, head, strict).exit_code, ExitCode::not_comparable);
  const auto same = compare(head, head);
  EXPECT_EQ(same.exit_code, ExitCode::nothing_worse);  // its like comes first
  EXPECT_TRUE(same.rows.at(0).base_cell.empty());
}

TEST(Cells, OtherIdSpellingOfOneIdentityMatches) {
  const auto cell = make_cell();
  auto renamed = cell;
  renamed.id = "older spelling-" + cell.hash;
  const auto out = compare(result_set("base", {good(renamed)}), result_set("head", {good(cell)}));
  EXPECT_EQ(out.exit_code, ExitCode::nothing_worse);
}

TEST(Cells, OneHashOfTwoCellsIsNotMixedUp) {
  auto a = make_cell(), b = make_cell({.ranks = 2});
  b.hash = a.hash;
  b.id = "other-" + a.hash;
  const auto set = result_set("x", {good(a), good(b, 3)});
  const auto out = compare(set, set);
  EXPECT_EQ(out.counts.passed, 2u);
}

TEST(Cells, PrecedenceOfExitCodes) {
  const auto a = make_cell(), b = make_cell({.ranks = 2}), c = make_cell({.ranks = 4}), d = make_cell({.ranks = 8});
  CellResults dead{c, {}};
  add_failure(dead, Status::crashed);
  auto noisy = measured(d, {{"throughput", around(1000, 0.05, 3)}});
  const auto base = [&](bool with_b) {
    std::vector<CellResults> cells{good(a), good(c), noisy};
    if (with_b) cells.push_back(good(b));
    return result_set("base", cells);
  };
  const auto head = [&](double factor, const CellResults& third) {
    return result_set("head", {good(a, factor), third, noisy});
  };
  EXPECT_EQ(compare(base(true), head(0.5, dead)).exit_code, ExitCode::regression);
  EXPECT_EQ(compare(base(true), head(1, dead)).exit_code, ExitCode::not_comparable);
  EXPECT_EQ(compare(base(false), head(1, dead)).exit_code, ExitCode::measurement_failed);
  EXPECT_EQ(compare(base(false), head(1, good(c))).exit_code, ExitCode::inconclusive);
}

TEST(Cells, CountsAddUp) {
  const auto a = make_cell(), b = make_cell({.ranks = 2}), c = make_cell({.ranks = 4});
  const auto out =
      compare(result_set("base", {good(a), good(b), good(c)}), result_set("head", {good(a, 0.5), good(b, 2)}));
  const auto& n = out.counts;
  EXPECT_EQ(n.expected, 3u);
  EXPECT_EQ(n.compared, 2u);
  EXPECT_EQ(n.regressed, 1u);
  EXPECT_EQ(n.improved, 1u);
  EXPECT_EQ(n.missing, 1u);
  EXPECT_EQ(out.cells_expected, 3u);
  EXPECT_EQ(out.cells_matched, 2u);
}

}  // namespace
}  // namespace stepgauge::verdict
