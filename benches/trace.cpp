// What it costs to analyse a trace of a million activities.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "../tests/support/temporary_folder.hpp"
#include "contract/trace_file.hpp"
#include "peak_memory.hpp"
#include "trace/breakdown.hpp"
#include "trace/classify.hpp"
#include "trace/diff.hpp"
#include "trace/reader.hpp"
#include "trace/show.hpp"

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

/// Half a million kernels and the calls that launched them, in a hundred steps with phases.
void write_large_trace(const std::string& path) {
  stepgauge::TraceFileWriter file(
      path, 1'700'000'000'000'000'000,
      {{"schemaVersion", 1},
       {"stepgauge", {{"trace_version", 1}, {"timeline", "device"}, {"rank", 0}, {"world_size", 1}}}});
  std::string args, name;
  const auto base = 1'700'000'000'000'000'000LL;
  for (int step = 0; step < 100; ++step) {
    const auto begin = base + step * 50'000'000LL;
    file.complete("gpu_user_annotation", fmt::format("ProfilerStep#{}", step), 0, 7, begin, begin + 50'000'000);
    file.complete("user_annotation", "forward", 1, 1, begin, begin + 20'000'000);
    file.complete("user_annotation", "backward", 1, 1, begin + 20'000'000, begin + 50'000'000);
    for (int i = 0; i < 5000; ++i) {
      const auto at = begin + i * 10'000LL;
      const int correlation = step * 5000 + i + 1;
      args.clear();
      fmt::format_to(std::back_inserter(args), "{{\"correlation\":{}}}", correlation);
      file.complete("cuda_runtime", "cudaLaunchKernel", 1, 1, at, at + 4'000, args);
      args.clear();
      fmt::format_to(std::back_inserter(args),
                     "{{\"device\":0,\"stream\":7,\"correlation\":{},\"grid\":[{},1,1],\"block\":[128,1,1],"
                     "\"registers per thread\":32,\"shared memory\":0}}",
                     correlation, i);
      name.clear();
      fmt::format_to(
          std::back_inserter(name),
          "void at::native::vectorized_elementwise_kernel<4, at::native::Functor{}<float>, std::array<char*, "
          "3ul> >(int, at::native::Functor{}<float>, std::array<char*, 3ul>)",
          i % 400, i % 400);
      file.complete("kernel", name, 0, 7, at + 5'000, at + 9'000 + i % 900, args);
    }
  }
  file.close();
}

class LargeFile {
 public:
  LargeFile() { write_large_trace(path()); }
  std::string path() const { return folder_.path() / "rank0.trace.json.gz"; }

 private:
  stepgauge::test::TemporaryFolder folder_;
};

/// A million events, deflated. Target: at most 2 s.
void write_trace_1m(benchmark::State& state) {
  for (auto _ : state) LargeFile();
}
BENCHMARK(write_trace_1m)->Unit(benchmark::kMillisecond)->UseRealTime();

/// What `trace show` does with a million events. Targets: at most 2 s and 1 GiB.
void read_and_show_1m(benchmark::State& state) {
  const LargeFile file;
  reset_peak();
  for (auto _ : state) {
    const auto shown = view(analyse(file.path(), read_trace(file.path())));
    if (!shown.reliable() || shown.ranks[0].work.empty()) state.SkipWithError("the trace is not shown");
  }
  state.counters["peak_MiB"] = peak_mib();
}
BENCHMARK(read_and_show_1m)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Two launches of a million activities compared, once they are read.
void diff_1m(benchmark::State& state) {
  const LargeFile file;
  const auto traces = analyse("a", read_trace(file.path()));
  for (auto _ : state) benchmark::DoNotOptimize(diff(traces, traces).rows.size());
}
BENCHMARK(diff_1m)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
