// The harness against a bare loop over the same program in the same process, in turn: what does measuring cost a step?
// Usage: bench_step_overhead CELL.json [rounds]. Prints one JSON object; ratio = harness / bare, by sums of step times.
#include <cstdio>
#include <cstdlib>

#include "contract/cell.hpp"
#include "stats/summary.hpp"
#include "worker/device.hpp"
#include "worker/eager_program.hpp"
#include "worker/step_loop.hpp"

namespace {

using namespace stepgauge;

/// Mean milliseconds of a step between two marks around the whole loop, nothing else in it.
double bare_step_ms(worker::StepProgram& program, worker::DeviceRoom& room, std::size_t steps) {
  const auto clock = room.make_clock(2);
  clock->mark(0);
  for (std::size_t i = 0; i < steps; ++i) program.step();
  clock->mark(1);
  clock->drain(1, [](std::size_t) {});
  return clock->elapsed_ms(0) / static_cast<double>(steps);
}

double harness_step_ms(worker::StepProgram& program, const Cell& cell, worker::DeviceRoom& room) {
  worker::Progress progress;
  const auto result = worker::run_loop(program, cell, room, progress, 0, [](double value) { return value; });
  const std::vector<double> measured(result.step_ms.begin() + static_cast<std::ptrdiff_t>(result.measured_from),
                                     result.step_ms.end());
  return stats::mean(measured).value();
}

int run(const char* path, int rounds) {
  auto cell = cell_from_json(parse_json(read_text_file(path), path), path);
  cell.measure.warmup_max_steps = 3 * cell.measure.warmup_block;
  const auto room = cell.device == "cuda" ? worker::make_cuda_room(0) : worker::make_cpu_room();
  const auto workload = workloads::make_workload(cell.workload.family, cell.workload.sizes);
  worker::EagerProgram program(cell, *workload, *room, 0);
  harness_step_ms(program, cell, *room);  // lazy work and autotuning happen here
  std::vector<double> bare, harness;
  for (int round = 0; round < rounds; ++round) {
    if (round % 2 == 0) bare.push_back(bare_step_ms(program, *room, static_cast<std::size_t>(cell.measure.steps)));
    harness.push_back(harness_step_ms(program, cell, *room));
    if (round % 2 == 1) bare.push_back(bare_step_ms(program, *room, static_cast<std::size_t>(cell.measure.steps)));
  }
  const double ratio = stats::median(harness).value() / stats::median(bare).value();
  std::printf("%s\n", dump_line({{"cell", cell.id},
                                 {"steps", cell.measure.steps},
                                 {"bare_ms", bare},
                                 {"harness_ms", harness},
                                 {"ratio", ratio}})
                          .c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CELL.json [rounds]\n", argv[0]);
    return 2;
  }
  return run(argv[1], argc > 2 ? std::atoi(argv[2]) : 4);
}
