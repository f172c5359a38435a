// A suite of 10,000 cells must be listed at once; processor time, so that a busy machine does not fail it; the bound is
// wide, the printed time is the measurement.
#include <cstdio>
#include <ctime>

#include "config/selection.hpp"
#include "support.hpp"

namespace stepgauge::config {
namespace {

std::string ten_thousand_cells() {
  std::string text = header +
                     "defaults: {device: cpu, env: {OMP_NUM_THREADS: 1}}\naxes:\n  workload: [resnet18, resnet50, "
                     "llama.tiny, llama.160m]\n";
  text +=
      "  precision: [fp32, tf32, bf16, bf16_pure, fp16]\n  ddp: [1, 2, 4, 8, {ranks: 16, bucket_cap_mb: 50}]\n  batch: "
      "[";
  for (int i = 1; i <= 20; ++i) text += (i == 1 ? "" : ", ") + std::to_string(i);
  text += "]\n  seed: [0, 1, 2, 3, 4]\n";
  return text +
         "overrides: [{match: {workload: \"llama.*\", ddp: 8}, set: {batch: 99, launches: 2}}]\nexclude: [{seed: 4, "
         "precision: fp16, batch: 20}]\n";
}

TEST(Speed, TenThousandCells) {
  const auto text = ten_thousand_cells();
  double best_ms = 1e9;
  std::size_t cells = 0;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::clock();
    const auto suite = parse_suite(text, "t.yaml");
    best_ms = std::min(best_ms, 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    cells = suite.cells.size() + suite.excluded.size() + suite.merged;
  }
  EXPECT_EQ(cells, 10000u);
  std::printf("parse and expand 10,000 cells: %.1f ms of processor time\n", best_ms);
#ifdef NDEBUG
  EXPECT_LT(best_ms, 2000);  // optimized builds alone: sanitizers make it ten times slower
#endif
}

}  // namespace
}  // namespace stepgauge::config
