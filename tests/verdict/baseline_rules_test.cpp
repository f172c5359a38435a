// A stored baseline: old, of few sessions, or of many.
#include <gtest/gtest.h>

#include "build_results.hpp"
#include "verdict/compare.hpp"
#include "verdict/side_by_side.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;

/// A baseline of these sessions of a cell's throughput.
ResultSet baseline(const Cell& cell, const std::vector<std::vector<double>>& sessions) {
  auto out = result_set("baseline unit", {{cell, {}}});
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const auto id = "session" + std::to_string(i);
    out.sessions.push_back({id, "2026-11-29T10:00:00Z", "runs/" + id, ""});
    for (auto& launch : measured(cell, {{"throughput", sessions[i]}}).launches) {
      launch.launch = static_cast<int>(out.cells[0].launches.size());
      launch.detail["session"] = id;
      out.cells[0].launches.push_back(launch);
    }
  }
  out.expires_at = "2026-12-29T10:00:00Z";
  return out;
}

Comparison against(const std::vector<std::vector<double>>& sessions, const std::vector<double>& head) {
  const auto cell = make_cell();
  return compare(baseline(cell, sessions), result_set("head", {measured(cell, {{"throughput", head}})}));
}

std::vector<std::vector<double>> sessions_at(std::size_t count, double spread_between, std::size_t launches = 4) {
  std::vector<std::vector<double>> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(around(1000 * (1 + spread_between * (i % 2 == 0 ? 1 : -1)), 0.002, launches));
  return out;
}

TEST(StoredBaseline, EnoughHistoryBlocks) {
  const auto out = against(sessions_at(6, 0.001), around(900, 0.002, 4));
  EXPECT_EQ(out.exit_code, ExitCode::regression);
  EXPECT_EQ(out.rows.at(0).base_sessions, 6u);
}

TEST(StoredBaseline, TooLittleHistoryShowsAndNeverBlocks) {
  for (const auto& sessions : {sessions_at(1, 0, 30), sessions_at(4, 0.001, 10), sessions_at(6, 0.001, 3)}) {
    const auto out = against(sessions, around(900, 0.002, 4));
    EXPECT_EQ(out.exit_code, ExitCode::inconclusive);
    EXPECT_EQ(out.counts.regressed, 0u);
    EXPECT_NE(out.rows.at(0).reason.find("does not block"), std::string::npos) << out.rows[0].reason;
    EXPECT_TRUE(out.rows[0].ci_lower.has_value()) << "the interval is to be shown";
  }
}

TEST(StoredBaseline, WhatSessionsDoIsNoRegression) {
  // Sessions differ by 4 % either way; 4 % less is what the next session may bring.
  const auto out = against(sessions_at(6, 0.04), around(960, 0.002, 4));
  EXPECT_NE(out.exit_code, ExitCode::regression);
  const auto cell = make_cell();
  auto plain = baseline(cell, sessions_at(6, 0.04));
  plain.sessions.clear();
  const auto without = compare(plain, result_set("head", {measured(cell, {{"throughput", around(960, 0.002, 4)}})}));
  EXPECT_LT(*out.rows[0].ci_lower, *without.rows[0].ci_lower) << "the session effect is not in the interval";
}

TEST(StoredBaseline, ExpiredIsNotComparable) {
  const auto cell = make_cell();
  const auto base = baseline(cell, sessions_at(6, 0.001));
  const auto head = result_set("head", {measured(cell, {{"throughput", around(1000, 0.002, 4)}})});
  Policy policy;
  policy.now = "2026-12-29T09:59:59Z";
  EXPECT_EQ(compare(base, head, policy).exit_code, ExitCode::nothing_worse);
  policy.now = "2026-12-29T10:00:00Z";
  const auto out = compare(base, head, policy);
  EXPECT_EQ(out.exit_code, ExitCode::not_comparable);
  EXPECT_NE(out.refusal.find("expired on 2026-12-29"), std::string::npos) << out.refusal;
  EXPECT_NE(out.refusal.find("baseline merge"), std::string::npos) << "it does not say what to do";
  EXPECT_EQ(compare(head, base, policy).comparable, true) << "a run does not expire";
}

TEST(StoredBaseline, SideBySideMarksWhatIsWorse) {
  const auto worse = against(sessions_at(1, 0), around(950, 0.002, 4));
  EXPECT_EQ(count_worse(worse), 1u);
  const auto rows = side_by_side(worse);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0]["worse"].get<bool>());
  EXPECT_NEAR(rows[0]["old"].get<double>(), 1000, 2);
  EXPECT_NEAR(rows[0]["new"].get<double>(), 950, 2);
  EXPECT_EQ(count_worse(against(sessions_at(1, 0), around(990, 0.002, 4))), 0u) << "within the tolerance";
  EXPECT_EQ(count_worse(against(sessions_at(1, 0), around(1100, 0.002, 4))), 0u) << "faster is not worse";
}

TEST(StoredBaseline, TimesThatNeverDifferAreNoted) {
  const auto out = against({{100, 100, 100}}, {100, 100});
  EXPECT_EQ(out.exit_code, ExitCode::nothing_worse);
  bool noted = false;
  for (const auto& note : out.notes) noted = noted || note.find("same value in every launch") != std::string::npos;
  EXPECT_TRUE(noted);
}

}  // namespace
}  // namespace stepgauge::verdict
