// What the harness itself costs: start of the CLI, listing a large suite, one launch of a worker that does nothing, a
// large comparison.
#include <benchmark/benchmark.h>

#include "../tests/support/temporary_folder.hpp"
#include "config/suite.hpp"
#include "launch/launcher.hpp"
#include "machine/captured_command.hpp"
#include "verdict/compare.hpp"

namespace {

using namespace stepgauge;

const std::string bin = STEPGAUGE_BIN_DIR;

/// Target: at most 10 ms.
void cli_version(benchmark::State& state) {
  for (auto _ : state) {
    if (machine::run_captured({bin + "/stepgauge", "--version"}).exit_code != 0)
      state.SkipWithError("stepgauge --version failed");
  }
}
BENCHMARK(cli_version)->Unit(benchmark::kMillisecond)->UseRealTime();

std::string large_suite() {
  std::string text =
      "stepgauge: 1\nname: large\ndefaults: {device: cuda, workload: resnet50}\naxes:\n  precision: [fp32, tf32, bf16, "
      "bf16_pure, fp16]\n"
      "  input: [fixed, fresh]\n  ddp: [1, 2, 4, 8]\n  batch: [";
  for (int i = 1; i <= 250; ++i) text += (i > 1 ? ", " : "") + std::to_string(i);
  return text + "]\n";
}

/// 10,000 cells, text to identities. Target: at most 150 ms.
void list_10000_cells(benchmark::State& state) {
  const auto text = large_suite();
  for (auto _ : state) {
    const auto suite = config::parse_suite(text, "large.yaml");
    if (suite.cells.size() != 10000) state.SkipWithError("expected 10,000 cells");
    benchmark::DoNotOptimize(suite.cells.data());
  }
}
BENCHMARK(list_10000_cells)->Unit(benchmark::kMillisecond);

/// A worker that leaves a record at once. Target: at most 20 ms.
void stub_launch(benchmark::State& state) {
  const test::TemporaryFolder folder;
  launch::LaunchRequest request;
  request.cell.device = "cpu";
  request.cell.workload = {"resnet18", "resnet", {}};
  assign_identity(request.cell);
  request.command = {bin + "/stub-worker", "--mode", "ok"};
  request.folder = folder.path();
  const auto launcher = launch::local_launcher();
  for (auto _ : state) {
    const auto outcome = launcher->launch(request, [](const launch::Progress&) {});
    if (outcome.status != Status::ok) state.SkipWithError(outcome.reason.c_str());
  }
}
BENCHMARK(stub_launch)->Unit(benchmark::kMillisecond)->UseRealTime();

ResultSet many_launches(int cells, int launches) {
  ResultSet results;
  results.suite = "large";
  results.fingerprint = {{"cpu", {{"model", "x"}, {"cores", 2}}}};
  const char* metrics[] = {"throughput", "init_latency", "first_step_latency", "peak_memory", "step_time"};
  for (int i = 0; i < cells; ++i) {
    CellResults cell;
    cell.cell.workload = {"resnet18", "resnet", {}};
    cell.cell.batch = i + 1;
    assign_identity(cell.cell);
    for (int l = 0; l < launches; ++l) {
      LaunchRecord record;
      record.cell_id = cell.cell.id;
      record.cell_hash = cell.cell.hash;
      record.launch = l;
      for (const char* metric : metrics) record.metrics[metric] = {1000 + (i * 31 + l * 17) % 13, "x", ""};
      cell.launches.push_back(std::move(record));
    }
    results.cells.push_back(std::move(cell));
  }
  return results;
}

/// 1,000,000 launch values: 10,000 cells x 5 metrics x 10 launches on each side. Target: at most 2 s.
void compare_1000000_values(benchmark::State& state) {
  const auto base = many_launches(10000, 10);
  const auto head = many_launches(10000, 10);
  for (auto _ : state) {
    const auto comparison = verdict::compare(base, head);
    if (!comparison.comparable) state.SkipWithError(comparison.refusal.c_str());
    benchmark::DoNotOptimize(comparison.rows.data());
  }
}
BENCHMARK(compare_1000000_values)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace

BENCHMARK_MAIN();
