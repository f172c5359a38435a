// Logs of collectives of very many ranks: how long `stepgauge replay` takes, and how much memory.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "../tests/support/temporary_folder.hpp"
#include "peak_memory.hpp"
#include "replay/reader.hpp"
#include "replay/view.hpp"

namespace {

using namespace stepgauge::replay;

constexpr int ranks = 10'000;
constexpr int collectives = 1'000;

/// Steps of ten collectives, every rank on its own clock, one of them a little late.
void write_rank(const std::string& path, int rank) {
  std::string text;
  text.reserve(collectives * 96);
  const auto out = std::back_inserter(text);
  fmt::format_to(out,
                 "{{\"schema\":\"stepgauge.collective_log\",\"version\":1,\"rank\":{},\"world_size\":{},\"clock\":"
                 "\"unix_ns\",\"backend\":\"nccl\",\"launch\":\"bench\",\"base_ns\":1796018862000000000}}\n",
                 rank, ranks);
  const std::int64_t off = rank * 7'919LL % 1'000'003;
  for (int i = 0; i < collectives; ++i) {
    const auto enter = i * 1'000'000LL + (rank * 31LL + i * 17LL) % 50'000 + (rank == 77 ? 60'000 : 0) + off;
    const auto end = i * 1'000'000LL + 500'000 + (rank * 13LL + i) % 2'000 + off;
    const auto bytes = i % 10 == 9 ? 4 : 26'214'400 - i % 10 * 1'048'576;
    fmt::format_to(out, "[{},\"all_reduce\",{},{},\"{}\",{},{},\"float32\",{}]\n", i, bytes, 881'231'127 + i % 10,
                   i % 10 == 9 ? "optimizer" : "backward", enter, end, bytes / 4);
  }
  std::ofstream(path, std::ios::binary) << text;
}

class Logs {
 public:
  Logs() {
    for (int rank = 0; rank < ranks; ++rank)
      write_rank(folder_.path() / fmt::format("rank{}.collectives.jsonl", rank), rank);
  }
  std::string folder() const { return folder_.path(); }
  double mib() const {
    double all = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      all += static_cast<double>(entry.file_size());
    return all / (1 << 20);
  }

 private:
  stepgauge::test::TemporaryFolder folder_;
};

/// 10,000 ranks x 1,000 collectives, read and analysed as by the command. Targets: at most 30 s and 4 GiB.
void replay_10k_ranks(benchmark::State& state) {
  const Logs logs;
  reset_peak();
  for (auto _ : state) {
    const auto shown = view({logs.folder()}, read_logs({logs.folder()}));
    if (shown.ranks.size() != ranks || shown.clocks != ranks || !shown.healthy()) {
      state.SkipWithError("the logs are not shown as they are");
    }
  }
  state.counters["peak_MiB"] = peak_mib();
  state.counters["log_MiB"] = logs.mib();
}
BENCHMARK(replay_10k_ranks)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
