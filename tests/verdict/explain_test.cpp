// C02: where over the matrix a slowdown sits.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "build_results.hpp"
#include "verdict/compare.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;

Comparison matrix(const std::function<double(const Settings&)>& head_factor) {
  std::vector<CellResults> base, head;
  for (const auto* compile : {"eager", "compiled"}) {
    for (const auto* precision : {"fp32", "fp16"}) {
      for (const int ranks : {1, 2}) {
        const Settings settings{"resnet50", precision, compile, ranks};
        const auto cell = make_cell(settings);
        base.push_back(measured(cell, {{"throughput", around(1000, 0.002)}}));
        head.push_back(measured(cell, {{"throughput", around(1000 / head_factor(settings), 0.002)}}));
      }
    }
  }
  return compare(result_set("base", base), result_set("head", head));
}

std::string notes_of(const Comparison& comparison) {
  std::string out;
  for (const auto& note : comparison.notes) {
    if (note.rfind("resnet50: ", 0) == 0) out += note + "\n";
  }
  return out;
}

TEST(Explain, OneBadCellIsNamedAndItsNeighboursAreHealthy) {
  const auto out = matrix([](const Settings& s) {
    return std::string(s.compile) == "compiled" && s.precision == "fp16" && s.ranks == 2 ? 1.4 : 1.0;
  });
  EXPECT_EQ(out.counts.regressed, 1u);
  EXPECT_EQ(out.counts.passed, 7u);
  EXPECT_EQ(out.exit_code, ExitCode::regression);  // the mean alone would have moved by 4 %
  EXPECT_NEAR(out.summaries.at(0).change, std::pow(1 / 1.4, 1.0 / 8) - 1, 1e-6);
  const auto notes = notes_of(out);
  const auto bad = make_cell({"resnet50", "fp16", "compiled", 2});
  EXPECT_NE(notes.find(bad.id + " alone"), std::string::npos) << notes;
  EXPECT_NE(notes.find("all 3 cells that differ from it by one setting (compile, ddp.ranks, precision) are healthy"),
            std::string::npos)
      << notes;
}

TEST(Explain, UniformSlowdownClearsTheSettings) {
  const auto notes = notes_of(matrix([](const Settings&) { return 1.2; }));
  const auto simplest = make_cell({"resnet50", "fp32", "eager", 1});
  EXPECT_NE(notes.find("all 8 cells by about the same"), std::string::npos) << notes;
  EXPECT_NE(notes.find(simplest.id + ", the simplest one"), std::string::npos) << notes;
  EXPECT_NE(notes.find("compile, ddp.ranks, precision are not the cause"), std::string::npos) << notes;
}

TEST(Explain, SharedSettingIsNamed) {
  const auto notes = notes_of(matrix([](const Settings& s) { return s.precision == "fp16" ? 1.3 : 1.0; }));
  EXPECT_NE(notes.find("exactly the 4 of 8 cells with precision=fp16"), std::string::npos) << notes;
}

TEST(Explain, TwoSettingsTogetherAreNamed) {
  const auto notes =
      notes_of(matrix([](const Settings& s) { return s.precision == "fp16" && s.ranks == 2 ? 1.3 : 1.0; }));
  EXPECT_NE(notes.find("exactly the 2 of 8 cells with precision=fp16 and ddp.ranks=2"), std::string::npos) << notes;
}

TEST(Explain, WhatWasNotComparedIsSaid) {
  auto cell = measured(make_cell(), {{"throughput", around(1000, 0.002)}, {"home_made", around(1, 0.1)}});
  for (auto& launch : cell.launches) launch.metrics["peak_memory"] = {std::nullopt, "", "no allocator"};
  const auto set = result_set("x", {cell});
  const auto notes = compare(set, set).notes;
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[0].find("peak_memory (1 cell: no allocator)"), std::string::npos) << notes[0];
  EXPECT_NE(notes[1].find("home_made"), std::string::npos) << notes[1];
}

TEST(Explain, NoPatternNoWords) {
  EXPECT_EQ(notes_of(matrix([](const Settings&) { return 1.0; })), "");
  const auto notes = notes_of(matrix([](const Settings& s) {
    return (s.precision == "fp16") != (s.ranks == 2) ? 1.3 : 1.0;  // no single setting splits these
  }));
  EXPECT_EQ(notes, "");
}

}  // namespace
}  // namespace stepgauge::verdict
