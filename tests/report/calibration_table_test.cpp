// What a person reads of a calibration and of a plan.
#include "report/calibration_table.hpp"

#include <cmath>

#include "build_results.hpp"
#include "expect_golden.hpp"

namespace stepgauge::report {
namespace {

using namespace stepgauge::testing;

struct Story {
  std::vector<Cell> cells{make_cell(), make_cell({.precision = "bf16"}), make_cell({.ranks = 2})};
  std::vector<CalibrationSession> sessions;
  verdict::CalibrationContext context;

  Story() {
    context.suite = "unit";
    context.file = "results/baselines/cpu-test/unit.calibration.jsonl";
    context.skipped = {{"slow-00000001", "00000001", Status::skipped, "perturbed on purpose: not calibrated"}};
    for (const std::string time : {"2026-11-29T10:00:00Z", "2026-11-30T11:30:00Z"}) {
      CalibrationSession session{time, "unit", time, time, "", "runs/" + time, {}, cpu_machine(), {}};
      // A quiet cell, and one whose throughput jumps about.
      add(session, cells[0], time < "2026-11-30" ? 1000 : 1010, 0.004);
      add(session, cells[1], 2000, 0.06);
      sessions.push_back(session);
    }
  }

  static void add(CalibrationSession& session, const Cell& cell, double level, double noise) {
    CalibrationCell one{cell.id, cell.hash, {{"ok", 10}}, {{"throughput", "samples/s"}, {"peak_memory", "MiB"}}, {}};
    const auto values = around(level, noise, 10);
    for (int i = 0; i < 10; ++i) {
      one.launches.push_back({i,
                              session.measured_at,
                              30,
                              {{"throughput", values[static_cast<std::size_t>(i)]}, {"peak_memory", 5000}},
                              {}});
    }
    session.cells.push_back(one);
  }
};

std::size_t widest(const std::string& text) {
  std::size_t out = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    out = std::max(out, end - begin);
    begin = end + 1;
  }
  return out;
}

TEST(CalibrationTable, Calibration) {
  const Story story;
  const auto text =
      calibration_table(verdict::judge_calibration(story.cells, story.sessions, story.context.wish), story.context, {});
  expect_golden("calibration.txt", text);
  EXPECT_LE(widest(text), 100u);
}

TEST(CalibrationTable, Plan) {
  Story story;
  story.context.wish.power = 0.9;
  story.context.wish.family = 3;
  const auto text =
      plan_table(verdict::judge_calibration(story.cells, story.sessions, story.context.wish), story.context, {});
  expect_golden("plan.txt", text);
  EXPECT_LE(widest(text), 100u);
}

}  // namespace
}  // namespace stepgauge::report
