// What it costs to analyse a trace of a million activities.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>

#include "trace/breakdown.hpp"
#include "trace/classify.hpp"

namespace {

using namespace stepgauge::trace;

constexpr std::size_t million = 1'000'000;

std::vector<Interval> shuffled_intervals() {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::int64_t> begin(0, 10'000'000'000), length(1'000, 20'000);
  std::vector<Interval> out(million);
  for (auto& interval : out) {
    interval.begin = begin(random);
    interval.end = interval.begin + length(random);
  }
  return out;
}

/// A hundred steps of kernels and copies on three streams and the calls that launched them; 400 different kernels.
RankTimeline large_timeline() {
  RankTimeline out;
  for (int i = 0; i < 400; ++i)
    out.names.push_back((i % 20 == 0 ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>) "
                                     : "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>() ") +
                        std::to_string(i));
  out.names.emplace_back("cudaLaunchKernel");
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::uint32_t> name(0, 399);
  for (std::size_t i = 0; i < million; ++i) {
    const auto begin = static_cast<std::int64_t>(i) * 10'000;
    out.activities.push_back({{begin, begin + 12'000}, name(random), static_cast<std::int32_t>(i % 3)});
    out.activities.back().correlation = static_cast<std::uint32_t>(i + 1);
    out.calls.push_back({{begin - 9'000, begin - 4'000}, 400, 1, CallKind::runtime, static_cast<std::uint32_t>(i + 1)});
    if (i % 50 == 0) out.activities.back().kind = ActivityKind::memcpy;
  }
  for (int i = 0; i < 100; ++i)
    out.steps.push_back({{i * 100'000'000LL, (i + 1) * 100'000'000LL}, "ProfilerStep#" + std::to_string(i)});
  return out;
}

/// Unsorted intervals united, activities classified. Target: at most 100 ms together.
void unite_and_classify_1m(benchmark::State& state) {
  const auto intervals = shuffled_intervals();
  auto timeline = large_timeline();
  for (auto _ : state) {
    benchmark::DoNotOptimize(unite(intervals));
    classify(timeline);
  }
}
BENCHMARK(unite_and_classify_1m)->Unit(benchmark::kMillisecond)->UseRealTime();

/// The same in the order of a trace: sorted but for a few neighbours.
void unite_nearly_sorted_1m(benchmark::State& state) {
  auto intervals = shuffled_intervals();
  std::sort(intervals.begin(), intervals.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  for (std::size_t i = 0; i + 1 < intervals.size(); i += 100) std::swap(intervals[i], intervals[i + 1]);
  for (auto _ : state) benchmark::DoNotOptimize(unite(intervals));
}
BENCHMARK(unite_nearly_sorted_1m)->Unit(benchmark::kMillisecond)->UseRealTime();

/// All of the metrics of a timeline, from impossible records to ratios.
void break_down_1m(benchmark::State& state) {
  auto timeline = large_timeline();
  classify(timeline);
  for (auto _ : state) {
    sanitize(timeline);
    benchmark::DoNotOptimize(break_down(timeline));
  }
}
BENCHMARK(break_down_1m)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
