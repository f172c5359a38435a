// A gate of 10,000 cells, 4 metrics that block and 20 pairs each is judged within 2 s (Release), whether few
// rows are under suspicion or many.
#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>
#include <random>

#include "gate_cells.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;

GateLaunch launch_of(std::mt19937& random, double spread) {
  std::normal_distribution<double> noise(1, spread);
  GateLaunch out;
  for (const auto* metric : {"init_latency", "first_step_latency", "throughput", "peak_memory"})
    out.metrics[metric] = {5000 * noise(random), unit_of(metric), ""};
  return out;
}

void expect_fast(std::size_t count, double spread) {
  std::mt19937 random(1);
  std::vector<GateCell> cells(count, new_gate_cell());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].base.id = cells[i].head.id = "cell" + std::to_string(i);
    for (int pair = 0; pair < 20; ++pair)
      add_try(cells[i], pair < 5 ? GateStage::screen : GateStage::confirm, pair, launch_of(random, spread),
              launch_of(random, spread));
  }
  const auto start = std::clock();
  const auto out = judge_gate(cells, {});
  const double cpu_seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::printf("%zu values, spread %.1f %%: %.3f s of CPU (%zu suspected, %zu regressed)\n", 160 * count, 100 * spread,
              cpu_seconds, out.suspected, out.counts.regressed);
  EXPECT_EQ(out.rows.size(), 4 * count);
#ifdef NDEBUG
  EXPECT_LT(cpu_seconds, 2.0);
#endif
}

TEST(GateSpeed, Quiet) {
  expect_fast(10000, 0.003);
}
TEST(GateSpeed, Noisy) {
  expect_fast(10000, 0.01);
}

}  // namespace
}  // namespace stepgauge::verdict
