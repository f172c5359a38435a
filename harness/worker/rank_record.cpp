#include "worker/rank_record.hpp"

#include <fmt/format.h>
#include <torch/version.h>

#include <cmath>

#include "worker/parallel/overlap.hpp"

namespace stepgauge::worker {
namespace {

void record_work(RankRecord& record, const Cell& cell, const workloads::Workload& workload) {
  const int micro_steps = accumulation_steps(cell.ddp.overlap);
  record.work_per_step = static_cast<double>(workload.work_per_step(cell.batch) * micro_steps);
  record.work_unit = workload.work_unit();
  const auto flops = workload.flops(cell.batch);
  record.flops_per_step = flops.per_step * micro_steps;
  record.flops_formula = flops.formula;
  if (micro_steps > 1) record.flops_formula += fmt::format(", x {} micro-steps", micro_steps);
}

void record_peak_rate(RankRecord& record, const Cell& cell, const DeviceRoom& room) {
  if (cell.peak_tflops > 0) {
    record.peak_tflops = cell.peak_tflops;
    record.peak_source = "suite";
  } else if (const auto peak = room.peak_tflops(cell.precision)) {
    record.peak_tflops = peak->first;
    record.peak_source = peak->second;
  }
}

void record_losses(RankRecord& record, const LoopResult& loop) {
  auto losses = Json::array();
  for (std::size_t i = 0; i <= loop.losses.size(); ++i) {
    const bool last = i == loop.losses.size();
    const auto value = (last ? loop.last_loss : loop.losses[i]).item<double>();
    if (!std::isfinite(value) && record.status == Status::ok) {
      const auto step = last ? loop.step_ms.size() - 1 : i;
      record_failure(record, Status::incorrect, fmt::format("the loss of step {} is not finite", step));
    }
    const Json item = std::isfinite(value) ? Json(value) : Json(nullptr);
    if (last) {
      record.detail["last_loss"] = item;
    } else {
      losses.push_back(item);
    }
  }
  record.detail["losses"] = losses;
}

}  // namespace

RankRecord new_record(const RankEnvironment& environment, const Cell& cell) {
  RankRecord out;
  out.cell_id = cell.id;
  out.cell_hash = cell.hash;
  out.launch = environment.launch;
  out.rank = environment.rank;
  out.world_size = environment.world_size;
  return out;
}

void record_failure(RankRecord& record, Status status, const std::string& reason) {
  record.status = status;
  record.reason = reason.substr(0, 2000);
}

void record_loop(RankRecord& record, const LoopResult& loop, const Cell& cell, const workloads::Workload& workload,
                 const DeviceRoom& room) {
  record.step_ms = loop.step_ms;
  record.measured_from = loop.measured_from;
  record.first_step_s = loop.first_step_s;
  record.memory_first_step = loop.first_step_peaks;
  record.memory_steady = loop.steady_peaks;
  record.outside_mib = loop.outside_mib;
  record.memory_method = room.memory_method();
  record_work(record, cell, workload);
  record_peak_rate(record, cell, room);
  record_losses(record, loop);
  double device_ms = 0;
  for (std::size_t i = loop.measured_from; i < loop.step_ms.size(); ++i) device_ms += loop.step_ms[i];
  record.detail["wall"] = {{"measured_wall_s", loop.measured_wall_s}, {"measured_device_s", device_ms / 1e3}};
  record.detail["warmup"] = {{"settled", loop.settled}, {"steps", loop.measured_from - 1}};
  if (is_perturbed(cell)) record.detail["perturbed"] = {{"spin_ms_per_step", loop.spin_ms}};
  record.detail["usage"] = loop.usage;
}

void record_program(RankRecord& record, const StepProgram& program) {
  record.detail["settings"] = program.settings();
  const auto report = program.compile_report();
  if (!report.is_null()) record.detail["compile"] = report;
}

void record_probes(RankRecord& record, const StepProbe& first, const StepProbe& settled, const LoopResult& loop,
                   const Json& outside_after) {
  auto memory = settled.memory();
  memory["first_step_phases"] = first.memory().at("phases");
  if (loop.growth_mib_per_step) memory["growth_mib_per_step"] = *loop.growth_mib_per_step;
  memory["outside_mib_after"] = outside_after;
  record.detail["memory_inside"] = memory;
  record.detail["settings"]["used"]["operator_types"] = settled.operator_types();
}

void record_mode(RankRecord& record, const StepProgram& program, const Cell& cell, const LoopResult& loop) {
  if (cell.checkpointing != "none") {
    const auto blocks = program.recomputed_blocks();
    record.detail["checkpoint"] = {{"asked", cell.checkpointing},
                                   {"blocks", program.blocks()},
                                   {"recomputed_blocks_per_step", blocks ? Json(*blocks) : Json(nullptr)}};
  }
  if (loop.graph_pools_mib) record.detail["memory_inside"]["graph_pools_mib"] = *loop.graph_pools_mib;
}

void record_parity(RankRecord& record, const Json& parity) {
  record.detail["parity"] = parity;
  if (parity.value("agrees", true)) return;
  record_failure(record, Status::incorrect,
                 "does not compute what the " + parity.value("reference", std::string("eager")) +
                     " reference does: " + parity.value("first_difference", std::string()));
}

void record_place(RankRecord& record, const DeviceRoom* room, const RankGroup* group) {
  auto software = room != nullptr ? room->software() : Json::object();
  software["torch"] = TORCH_VERSION;
  software["worker"] = STEPGAUGE_VERSION;
  software["compiler"] = __VERSION__;
  if (group != nullptr && !group->library().empty()) software["mpi"] = group->library();
  record.detail["software"] = software;
  record.detail["environment"] = recorded_variables();
  record.detail["cpu"] = cpu_placement();
  if (room != nullptr) record.detail["device"] = room->describe();
}

}  // namespace stepgauge::worker
