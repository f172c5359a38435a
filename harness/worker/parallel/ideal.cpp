#include "worker/parallel/ideal.hpp"

#include <algorithm>

#include "contract/median.hpp"

namespace stepgauge::worker {
namespace {

constexpr double mib = 1024.0 * 1024.0;
constexpr std::size_t warm_rounds = 3, rounds = 15;

double settled_median_ms(DeviceRoom& room, const std::function<void()>& work) {
  room.synchronize();
  timed_ms(room, warm_rounds, work);
  return median(timed_ms(room, rounds, work));
}

}  // namespace

Json communication_json(const CellDdp& options, const StepProgram& program, const LoopResult& loop) {
  const auto steps = static_cast<double>(loop.step_ms.size() - loop.measured_from);
  auto captured = program.captured_traffic();
  double calls = 0, bytes = 0;
  auto by_kind = Json::object();
  for (const auto& [kind, traffic] : loop.traffic) {
    const double calls_per_step =
        static_cast<double>(traffic.calls) / steps + static_cast<double>(captured[kind].calls);
    const double bytes_per_step =
        static_cast<double>(traffic.bytes) / steps + static_cast<double>(captured[kind].bytes);
    if (calls_per_step == 0) continue;
    by_kind[kind] = {{"calls", calls_per_step}, {"bytes", bytes_per_step}};
    calls += calls_per_step;
    bytes += bytes_per_step;
  }
  return {{"overlap", options.overlap},
          {"hook", options.hook},
          {"error_state_mib", static_cast<double>(program.hook_state_bytes()) / mib},
          {"bytes_per_step_sent", bytes},
          {"collectives_per_step", calls},
          {"by_kind", by_kind}};
}

Json measure_ideal(StepProgram& program, DeviceRoom& room, RankGroup& group, const LoopResult& loop) {
  const std::vector<double> measured(loop.step_ms.begin() + static_cast<std::ptrdiff_t>(loop.measured_from),
                                     loop.step_ms.end());
  const double step_ms = group.max_over_ranks(median(measured));
  if (!program.set_reduction(false)) return {{"absent", "this mode cannot leave the reduction out of a step"}};
  const double compute_ms = group.max_over_ranks(settled_median_ms(room, [&] { program.step(); }));
  program.set_reduction(true);
  const double communication_ms = group.max_over_ranks(settled_median_ms(room, [&] { program.reduce_alone(); }));
  const double limit_ms = std::max(compute_ms, communication_ms);
  return {{"compute_ms", compute_ms},
          {"communication_ms", communication_ms},
          {"limit_ms", limit_ms},
          {"step_ms", step_ms},
          {"distance", step_ms / limit_ms}};
}

}  // namespace stepgauge::worker
