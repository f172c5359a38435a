// What a calibration says of a cell decides whether a team trusts a gate there.
#include "verdict/calibration.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "build_results.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;

CalibrationSession session_of(const Cell& cell, const Samples& samples,
                              const std::string& time = "2026-11-29T10:00:00Z") {
  CalibrationSession out;
  out.session = time;
  out.suite = "unit";
  out.measured_at = time;
  auto& one = out.cells.emplace_back();
  one.id = cell.id;
  one.hash = cell.hash;
  for (const auto& [metric, values] : samples) {
    one.units[metric] = unit_of(metric);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i == one.launches.size()) one.launches.push_back({static_cast<int>(i), time, 30, {}, {}});
      one.launches[i].values[metric] = values[i];
    }
  }
  one.statuses["ok"] = one.launches.size();
  return out;
}

CalibrationRow row_of(const Calibration& calibration, const std::string& metric) {
  for (const auto& row : calibration.rows) {
    if (row.metric == metric) return row;
  }
  ADD_FAILURE() << "no row " << metric;
  return {};
}

TEST(Calibration, SpreadsByHand) {
  const auto cell = make_cell();
  const double e = std::exp(0.01);
  const auto out =
      judge_calibration({cell}, {session_of(cell, {{"throughput", {100, 100 * e, 100, 100 * e, 100}}})}, {});
  const auto row = row_of(out, "throughput");
  EXPECT_TRUE(row.measured);
  EXPECT_NEAR(*row.spread, 0.01, 1e-12);                // every difference is 0.01 in ln
  EXPECT_NEAR(*row.between, std::sqrt(0.3e-4), 1e-12);  // 2 of 5 at 0.01: squares 1.2e-4 / 4
  EXPECT_NEAR(*row.level, 100 * std::exp(0.004), 1e-9);
  EXPECT_FALSE(row.sigma_session) << "one session";
  EXPECT_NEAR(*row.mde, std::expm1(std::log1p(0.02) / 4 + (1.76131 + 0.868055) * 0.01 / std::sqrt(15.0)), 1e-6);
  EXPECT_TRUE(row.gateable);
  EXPECT_EQ(out.cells.at(0).launch_s, 30);
  EXPECT_DOUBLE_EQ(out.totals.screen_s, 5 * 2 * 30);
  EXPECT_DOUBLE_EQ(out.totals.confirm_s, 15 * 2 * 30);
}

TEST(Calibration, NoiseThatIsTooLargeIsSaid) {
  const auto cell = make_cell();
  const auto out = judge_calibration({cell}, {session_of(cell, {{"throughput", around(100, 0.08, 10)}})}, {});
  const auto row = row_of(out, "throughput");
  EXPECT_FALSE(row.gateable);
  EXPECT_NE(row.reason.find("gateable from a tolerance of"), std::string::npos) << row.reason;
  EXPECT_EQ(out.not_gateable, 1u);
  const double either_way = 2 * suspicion_chance(0, {*row.spread, std::log1p(0.02)}, 5, GatePolicy{});
  EXPECT_DOUBLE_EQ(*row.false_suspicion, either_way);
  EXPECT_NEAR(out.cells.at(0).false_suspicion, either_way, 1e-12);
  EXPECT_NEAR(out.totals.expected_s, out.totals.screen_s + either_way * out.totals.confirm_s, 1e-9);
  GateWish wide;
  wide.tolerances["throughput"] = *row.least_tolerance * 1.0001;
  EXPECT_TRUE(
      row_of(judge_calibration({cell}, {session_of(cell, {{"throughput", around(100, 0.08, 10)}})}, wide), "throughput")
          .gateable);
}

TEST(Calibration, WithoutSpreadARowIsExact) {
  const auto cell = make_cell();
  const auto out = judge_calibration({cell}, {session_of(cell, {{"peak_memory", {5000, 5000, 5000, 5000, 5000}}})}, {});
  const auto row = row_of(out, "peak_memory");
  EXPECT_TRUE(row.exact && row.gateable);
  EXPECT_EQ(row.needed->confirm, 0u);
  EXPECT_NEAR(*row.threshold, 64.0 / 5000, 1e-12);
}

TEST(Calibration, WhatWasNotMeasured) {
  const auto cell = make_cell(), other = make_cell({.ranks = 2});
  const auto out = judge_calibration({cell, other}, {session_of(cell, {{"throughput", {1, 2, 3, 4}}})}, {});
  EXPECT_FALSE(out.cells.at(0).measured);
  EXPECT_NE(out.cells.at(0).reason.find("5 ok launches are needed"), std::string::npos);
  EXPECT_EQ(out.cells.at(1).reason, "never calibrated on this machine");
  EXPECT_EQ(out.not_measured, 1u);
  const auto zero = judge_calibration({cell}, {session_of(cell, {{"throughput", {1, 2, 0, 4, 5}}})}, {});
  EXPECT_NE(row_of(zero, "throughput").reason.find("value of 0"), std::string::npos);
  EXPECT_TRUE(judge_calibration({cell}, {}, {}).rows.empty());
}

TEST(Calibration, SessionsGiveTheirOwnSpread) {
  const auto cell = make_cell();
  const auto out = judge_calibration({cell},
                                     {session_of(cell, {{"throughput", around(105, 0.001, 6)}}, "2026-11-30T10:00:00Z"),
                                      session_of(cell, {{"throughput", around(100, 0.001, 6)}})},
                                     {});
  const auto row = row_of(out, "throughput");
  EXPECT_EQ(row.sessions, 2u);
  EXPECT_NEAR(*row.sigma_session, std::log(1.05) / std::sqrt(2.0), 1e-3);
  EXPECT_LT(*row.spread, 0.003) << "the step between the sessions is in the spread of pairs";
  EXPECT_EQ(out.days, 2u);
  EXPECT_EQ(out.first_measured_at, "2026-11-29T10:00:00Z");
}

TEST(Calibration, StepNoiseIsToldApart) {
  const auto cell = make_cell();
  auto session = session_of(cell, {{"throughput", around(100, 0.01, 10)}, {"init_latency", around(5, 0.01, 10)}});
  for (auto& launch : session.cells[0].launches) launch.steps = {0.0004, 50, 2};
  const auto out = judge_calibration({cell}, {session}, {});
  const auto row = row_of(out, "throughput");
  EXPECT_NEAR(*row.sigma_step, std::sqrt(0.0004 * 49 / 48), 1e-12);
  EXPECT_DOUBLE_EQ(*row.inflation, 2);
  EXPECT_LT(*row.sigma_launch, *row.between);
  EXPECT_FALSE(row_of(out, "init_latency").sigma_step) << "an init has no steps";
}

TEST(Calibration, ARampIsCalledDrift) {
  const auto cell = make_cell();
  std::vector<double> ramp;
  for (int i = 0; i < 12; ++i) ramp.push_back(100 * std::exp(0.001 * i));
  const auto out = judge_calibration({cell}, {session_of(cell, {{"throughput", ramp}})}, {});
  EXPECT_LT(*row_of(out, "throughput").drift_z, drift_limit);
  ASSERT_EQ(out.notes.size(), 1u);
  EXPECT_NE(out.notes[0].find("drift"), std::string::npos);
}

TEST(Calibration, PairsThatAreFixedAreJudgedByTheirPower) {
  const auto cell = make_cell();
  const auto session = session_of(cell, {{"throughput", around(100, 0.012, 10)}});
  GateWish wish;
  wish.power = 0.9;
  const auto free = row_of(judge_calibration({cell}, {session}, wish), "throughput");
  ASSERT_TRUE(free.needed);
  EXPECT_GT(free.needed->screen + free.needed->confirm, 20u);
  EXPECT_TRUE(is_found(free, wish));
  wish.fixed_pairs = true;
  EXPECT_FALSE(is_found(free, wish)) << "5 + 15 pairs find it in " << *free.power;
}

}  // namespace
}  // namespace stepgauge::verdict
