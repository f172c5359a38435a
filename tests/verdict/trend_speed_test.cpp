// A history of years is looked at every morning.
#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>

#include "nights.hpp"

namespace stepgauge::verdict {
namespace {

TEST(TrendSpeed, AThousandNightsOfFiveHundredSeries) {
  testing::Nights nights("throughput", 1000);
  const auto first = nights.series();
  for (std::size_t i = 1; i < 500; ++i) {
    auto series = first;
    series.cell = "cell" + std::to_string(i);
    for (std::size_t night = 0; night < 1000; ++night) {
      series.tip[night] = first.tip[(night + 37 * i) % 1000];
      if (i % 10 == 0 && night > 500) series.tip[night][0] *= 0.95;
    }
    nights.input.series.push_back(std::move(series));
  }
  TrendPolicy policy;
  policy.changes = ChangeSearch::always;  // the dearest night of the week
  const auto start = std::clock();
  const auto trend = judge_trend(nights.input, policy);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::printf("1,000 nights x 500 series: %.2f s of CPU, %zu alarm\n", seconds, trend.counts.alarm);
  EXPECT_EQ(trend.rows.size(), 500u);
  EXPECT_GE(trend.counts.alarm, 49u);
#ifdef NDEBUG
  EXPECT_LT(seconds, 4.0);  // a second is left for reading the file
#endif
}

}  // namespace
}  // namespace stepgauge::verdict
