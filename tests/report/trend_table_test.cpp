// What a person reads of a history.
#include "report/trend_table.hpp"

#include "expect_golden.hpp"
#include "nights.hpp"

namespace stepgauge::report {
namespace {

using testing::Nights;

/// A shift, an acknowledged one, a machine that slowed down, and a series that vanished.
verdict::TrendInput story() {
  Nights nights("throughput", 60, 0.004);
  nights.add(12, 97, 0.004);
  auto& all = nights.input;
  all.series[0].cell = "resnet50.b32/eager/fp32/cuda.ddp1-00000001";
  all.series[0].unit = "samples/s";
  const auto add = [&](const char* cell, const char* metric, const char* unit, Nights other) {
    auto series = other.series();
    series.cell = cell;
    series.unit = unit;
    series.metric = find_metric(metric);
    all.series.push_back(std::move(series));
    return all.series.size() - 1;
  };
  auto known = add("resnet50.b32/eager/fp32/cuda.ddp1-00000001", "peak_memory", "MiB",
                   Nights("peak_memory", 50, 0, 8000).add(22, 9000, 0));
  all.series[known].known = {{50, "a larger workspace | see #12\x1b[31m", "ada"}};
  auto gone = add("llama.b8/eager/bf16/cuda.ddp2-00000002", "throughput", "tokens/s", Nights("throughput", 72));
  for (std::size_t night = 70; night < 72; ++night) all.series[gone].tip[night].clear();
  all.series[gone].last_outcome = "2 crashed";
  auto slow = add("llama.b8/eager/bf16/cuda.ddp4-00000003", "throughput", "tokens/s", Nights("throughput", 72));
  for (std::size_t night = 0; night < 72; ++night) {
    const double machine = night < 55 ? 1 : 0.94;
    all.series[slow].reference[night] = {50 * machine};
    all.nights[night].reference_commit = "frozen";
    for (auto& value : all.series[slow].tip[night]) value *= machine;
  }
  all.pin = {3, "v1.0"};
  all.notes = {"h/box/unit.jsonl:73: the last line is cut off (12 bytes) and left out"};
  return all;
}

TEST(TrendTable, Golden) {
  const auto text = trend_table(verdict::judge_trend(story()), {});
  testing::expect_golden("trend.txt", text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

/// A loss that was measured to be none, one that was measured to be real, and a quiet series that moved.
TEST(TrendTable, ConfirmationsAndChanges) {
  auto all = story();
  verdict::TrendConfirmation measured;
  measured.last_good = 59;
  measured.first_bad = 60;
  measured.alarm_size = -0.03;
  measured.verdict = ConfirmationVerdict::not_confirmed;
  measured.pairs = 15;
  measured.change = 0.001;
  measured.ci_lower = -0.002;
  measured.ci_upper = 0.004;
  measured.at = "2020-03-13T04:00:00Z";
  all.series[0].confirmations = {measured};
  auto second = all.series[0];
  second.cell = "resnet50.b64/eager/fp32/cuda.ddp1-00000004";
  measured.verdict = ConfirmationVerdict::unknown;
  measured.reason = "both nights ran this commit\x1b[31m";
  measured.change = std::nullopt;
  measured.pairs = 0;
  second.confirmations = {measured, measured};
  all.series.push_back(std::move(second));
  auto young = Nights("throughput", 72, 0.002).series();
  for (std::size_t night = 0; night < 72; ++night) {
    if (night < 50) young.tip[night].clear();
    if (night >= 66)
      for (auto& value : young.tip[night]) value *= 0.97;
  }
  young.cell = "llama.b8/eager/fp32/cuda.ddp1-00000005";
  young.unit = "tokens/s";
  all.series.push_back(young);
  for (auto& launches : young.tip)
    if (!launches.empty()) launches = {launches[0] * launches[0] / 100, launches[0] * launches[0] / 100};
  young.metric = find_metric("init_latency");
  young.unit = "s";
  young.tip[66] = young.tip[67] = young.tip[65];
  all.series.push_back(young);
  verdict::TrendPolicy always;
  always.changes = verdict::ChangeSearch::always;
  const auto text = trend_table(verdict::judge_trend(all, always), {});
  testing::expect_golden("trend_changes.txt", text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(TrendTable, NothingToJudge) {
  testing::expect_golden("trend_short.txt", trend_table(verdict::judge_trend(Nights("throughput", 2).input), {}));
}

}  // namespace
}  // namespace stepgauge::report
