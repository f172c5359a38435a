// 1,000,000 launch values within 2 s (Release).
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <random>

#include "build_results.hpp"
#include "verdict/compare.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;

ResultSet big(const std::string& name, double spread, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(1, spread);
  std::vector<CellResults> cells;
  for (int i = 0; i < 10000; ++i) {
    auto cell = make_cell();
    cell.batch = i + 1;
    assign_identity(cell);
    Samples samples;
    for (const auto* metric : {"init_latency", "first_step_latency", "step_time", "throughput", "peak_memory"}) {
      for (int launch = 0; launch < 10; ++launch) samples[metric].push_back(5000 * noise(random));
    }
    cells.push_back(measured(cell, samples));
  }
  return result_set(name, std::move(cells));
}

void expect_fast(double spread) {
  const auto base = big("base", spread, 1), head = big("head", spread, 2);
  const auto cpu_start = std::clock();
  const auto start = std::chrono::steady_clock::now();
  const auto out = compare(base, head);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double cpu_seconds = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  std::printf("1,000,000 launch values, spread %.1f %%: %.3f s, %.3f s of CPU (%zu pass, %zu inconclusive)\n",
              100 * spread, seconds, cpu_seconds, out.counts.passed, out.counts.inconclusive);
  EXPECT_EQ(out.rows.size(), 50000u);
#ifdef NDEBUG
  EXPECT_LT(cpu_seconds, 2.0);  // other programs of the machine are not ours to judge
#endif
}

TEST(Speed, QuietMillion) {
  expect_fast(0.002);
}
TEST(Speed, NoisyMillion) {
  expect_fast(0.05);
}

}  // namespace
}  // namespace stepgauge::verdict
