#include "worker/rank_program.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <chrono>
#include <cmath>
#include <cstdio>

#include "worker/device.hpp"
#include "worker/parallel/collective_log.hpp"
#include "worker/parallel/ideal.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/parallel/replay.hpp"
#include "worker/parallel/sweep.hpp"
#include "worker/parity/parity.hpp"
#include "worker/rank_environment.hpp"
#include "worker/step_loop.hpp"

namespace stepgauge::worker {
namespace {

constexpr double ns_per_s = 1e9;

/// Times the phases before the first step; each ends where the next begins.
class PhaseClock {
 public:
  PhaseClock(Progress& progress, std::int64_t start_ns, const CellPerturb& perturb)
      : progress_(progress), perturb_(perturb), last_ns_(start_ns) {}

  void finish_spawn(std::int64_t at_ns) { close("spawn", at_ns); }
  void begin(const std::string& phase) {
    current_ = phase;
    progress_.phase(phase);
    if (perturb_.sleep_s > 0 && perturb_.sleep_phase == phase) {
      ::usleep(static_cast<useconds_t>(perturb_.sleep_s * 1e6));
    }
  }
  void end() { close(current_, monotonic_ns()); }
  const std::string& current() const { return current_; }
  const std::map<std::string, double>& seconds() const { return seconds_; }

 private:
  void close(const std::string& phase, std::int64_t at_ns) {
    seconds_[phase] += static_cast<double>(at_ns - last_ns_) / ns_per_s;
    last_ns_ = at_ns;
  }

  Progress& progress_;
  const CellPerturb& perturb_;
  std::int64_t last_ns_;
  std::string current_ = "spawn";
  std::map<std::string, double> seconds_;
};

class Rank {
 public:
  Rank(const RankEnvironment& environment, const Cell& cell, long long main_entered_ns)
      : environment_(environment),
        cell_(cell),
        phases_(progress_, environment.spawn_ns.value_or(main_entered_ns), cell_.perturb) {
    record_.cell_id = cell.id;
    record_.cell_hash = cell.hash;
    record_.launch = environment.launch;
    record_.rank = environment.rank;
    record_.world_size = environment.world_size;
    phases_.finish_spawn(main_entered_ns);
  }

  RankRecord run() {
    try {
      refuse_unknown_modes();
      start();
      if (environment_.replay_path) {
        replay();
      } else {
        prepare();
        measure();
      }
    } catch (const UnsupportedCell& error) {
      fail(Status::unsupported, error.what());
    } catch (const IneffectiveCell& error) {
      fail(Status::ineffective, error.what());
    } catch (const c10::OutOfMemoryError& error) {
      fail(Status::oom, error.what_without_backtrace());
    } catch (const std::bad_alloc& error) {
      fail(Status::oom, "the host is out of memory (std::bad_alloc)");
    } catch (const c10::Error& error) {
      const std::string text = error.what_without_backtrace();
      const bool host_oom = text.find("can't allocate memory") != std::string::npos;
      fail(host_oom ? Status::oom : Status::crashed, text);
    } catch (const std::exception& error) {
      fail(Status::crashed, error.what());
    }
    finish_collectives();
    describe();
    return std::move(record_);
  }

 private:
  void refuse_unknown_modes() const {
    if (const auto reason = unsupported_reason(cell_); !reason.empty()) throw UnsupportedCell(reason);
    if (cell_.ddp.ranks != environment_.world_size) {
      throw std::runtime_error(
          fmt::format("the cell has {} ranks, WORLD_SIZE is {}", cell_.ddp.ranks, environment_.world_size));
    }
  }

  void start() {
    phases_.begin("runtime");
    if (is_python_mode(cell_.compile)) start_python();
    room_ = cell_.device == "cuda" ? make_cuda_room(environment_.local_rank) : make_cpu_room();
    keep_memory_history();
    if (is_cuda_graph_mode(cell_.compile)) room_->leave_default_stream();
    phases_.end();
    note_outside_memory();
    if (environment_.world_size > 1) {
      phases_.begin("rendezvous");
      if (cell_.measure.collective_log) keep_collectives();
      if (cell_.ddp.overlap == "high_priority_stream") room_->prefer_high_priority();
      group_ = std::make_unique<RankGroup>(environment_, cell_, *room_, log_, collectives_.get());
      phases_.end();
      note_outside_memory();
    }
  }

  void keep_collectives() {
    collectives_ = std::make_unique<CollectiveLog>(
        environment_.collectives_path(),
        CollectiveLog::Facts{environment_.rank, environment_.world_size, cell_.ddp.backend, environment_.launch_id,
                             /*ends=*/room_->device().is_cpu()});
    collectives_->phase(phases_.current());
    progress_.on_phase([this](std::string_view name) { collectives_->phase(name); });
  }

  /// The collectives of another run in place of a model.
  void replay() {
    if (!group_) throw std::runtime_error("a replay of collectives needs at least two ranks");
    progress_.phase("replay");
    record_.detail["replay"] = replay_plan(*environment_.replay_path, *group_, *room_);
    group_->shutdown();
  }

  void prepare() {
    phases_.begin("build");
    workload_ = workloads::make_workload(cell_.workload.family, cell_.workload.sizes);
    if (cell_.perturb.extra_memory_mib > 0) {
      held_ = torch::ones({cell_.perturb.extra_memory_mib << 20},
                          torch::TensorOptions().device(room_->device()).dtype(torch::kUInt8));
    }
    program_ = make_program(cell_, *workload_, *room_,
                            {environment_.rank, environment_.world_size,
                             cell_.measure.graphs ? environment_.graphs_path() : std::string()});
    room_->synchronize();
    phases_.end();
    note_outside_memory();
    if (group_) {
      phases_.begin("wrap");
      program_->wrap(*group_);
      room_->synchronize();
      phases_.end();
      note_outside_memory();
    }
    if (cell_.compile != "eager") {
      phases_.begin("compile");
      program_->prepare();
      room_->synchronize();
      phases_.end();
      note_outside_memory();
    }
  }

  void measure() {
    const auto agree = [this](double value) { return group_ ? group_->max_over_ranks(value) : value; };
    StepProbe first(*room_, StepProbe::Types::not_looked_at), probe(*room_, StepProbe::Types::seen);
    TracedPass traced(log_, *room_);
    const bool tracing = environment_.trace_path && cell_.measure.trace_steps > 0;
    const auto loop = run_loop(*program_, cell_, *room_, progress_, environment_.rank, agree,
                               {tracing ? &first : nullptr, tracing ? &probe : nullptr, tracing ? &traced : nullptr,
                                group_ ? [this] { return group_->traffic(); } : std::function<TrafficByKind()>(),
                                group_ ? [this](const std::string& fault) { group_->plant(fault); }
                                       : std::function<void(const std::string&)>()});
    if (loop.outside_mib) outside_after_["steps"] = *loop.outside_mib;
    progress_.phase("finish");
    record_.step_ms = loop.step_ms;
    record_.measured_from = loop.measured_from;
    record_.first_step_s = loop.first_step_s;
    record_.memory_first_step = loop.first_step_peaks;
    record_.memory_steady = loop.steady_peaks;
    record_.outside_mib = loop.outside_mib;
    record_.memory_method = room_->memory_method();
    const int micro_steps = accumulation_steps(cell_.ddp.overlap);
    record_.work_per_step = static_cast<double>(workload_->work_per_step(cell_.batch) * micro_steps);
    record_.work_unit = workload_->work_unit();
    const auto flops = workload_->flops(cell_.batch);
    record_.flops_per_step = flops.per_step * micro_steps;
    record_.flops_formula = flops.formula;
    if (micro_steps > 1) record_.flops_formula += fmt::format(", x {} micro-steps", micro_steps);
    keep_peak_rate();
    keep_losses(loop);
    double device_ms = 0;
    for (std::size_t i = loop.measured_from; i < loop.step_ms.size(); ++i) device_ms += loop.step_ms[i];
    record_.detail["wall"] = {{"measured_wall_s", loop.measured_wall_s}, {"measured_device_s", device_ms / 1e3}};
    record_.detail["warmup"] = {{"settled", loop.settled}, {"steps", loop.measured_from - 1}};
    if (is_perturbed(cell_)) record_.detail["perturbed"] = {{"spin_ms_per_step", loop.spin_ms}};
    record_.detail["settings"] = program_->settings();
    record_.detail["usage"] = loop.usage;
    const auto report =
        program_->compile_report();  // here: whatever is compiled below is not the measured steps' doing
    if (!report.is_null()) record_.detail["compile"] = report;
    if (tracing) keep_inside(first, probe, traced, loop);
    if (history_kept_) write_text_file(*environment_.memory_history_path, room_->memory_history());
    if (group_ && cell_.measure.allreduce_sweep) sweep();
    keep_mode(loop);
    keep_communication(loop);  // behind what graphs hold: without reduction a step is another graph
    verify();
    program_.reset();  // before the group: a communicator waits for the graphs that captured it
    if (group_) group_->shutdown();
  }

  void sweep() {
    progress_.phase("sweep");
    if (collectives_) collectives_->pause();
    record_.detail["communication"].update(sweep_all_reduce(*group_, *room_));
    if (collectives_) collectives_->resume();
  }

  /// A rank that failed says with whom it did not agree, as far as the others still answer.
  void finish_collectives() {
    if (collectives_ && record_.status == Status::ok) collectives_->wait_for_ends(std::chrono::milliseconds(200));
    if (collectives_) collectives_->flush();
    if (record_.status == Status::crashed && group_) {
      if (const auto odd = group_->compare_last_collectives(); !odd.empty())
        record_.reason = odd + "; " + record_.reason;
    }
    if (collectives_ && !collectives_->problem().empty()) record_.detail["notes"].push_back(collectives_->problem());
  }

  /// How gradients were reduced, and what the limit would be.
  void keep_communication(const LoopResult& loop) {
    if (!group_) return;
    auto out = communication_json(cell_.ddp, *program_, loop);
    if (cell_.measure.allreduce_sweep && record_.status == Status::ok) {
      progress_.phase("probe");
      out["ideal"] = measure_ideal(*program_, *room_, *group_, loop);
    }
    record_.detail["communication"].update(out);
  }

  /// What checkpointing did and what the mode leaves behind.
  void keep_mode(const LoopResult& loop) {
    if (cell_.checkpointing != "none") {
      const auto blocks = program_->recomputed_blocks();
      record_.detail["checkpoint"] = {{"asked", cell_.checkpointing},
                                      {"blocks", program_->blocks()},
                                      {"recomputed_blocks_per_step", blocks ? Json(*blocks) : Json(nullptr)}};
    }
    if (loop.graph_pools_mib) record_.detail["memory_inside"]["graph_pools_mib"] = *loop.graph_pools_mib;
    if (cell_.measure.ir_census) {
      progress_.phase("census");
      record_.detail["ir_census"] = program_->ir_census();
    }
    if (record_.status == Status::ok) program_->finish();
  }

  /// A result counts only when the program that was measured computes what eager does.
  void verify() {
    if (cell_.measure.parity_steps == 0 || record_.status != Status::ok) return;
    progress_.phase("verify");
    const auto parity = check_parity(std::move(program_), cell_, *workload_, *room_, environment_.rank, group_.get());
    record_.detail["parity"] = parity;
    if (!parity.value("agrees", true)) {
      fail(Status::incorrect, "does not compute what the " + parity.value("reference", std::string("eager")) +
                                  " reference does: " + parity.value("first_difference", std::string()));
    }
  }

  /// What the probe and the traced pass found; a trace that cannot be written costs the launch nothing else.
  void keep_inside(const StepProbe& first, const StepProbe& probe, const TracedPass& traced, const LoopResult& loop) {
    auto memory = probe.memory();
    memory["first_step_phases"] = first.memory().at("phases");
    if (loop.growth_mib_per_step) memory["growth_mib_per_step"] = *loop.growth_mib_per_step;
    memory["outside_mib_after"] = outside_after_;
    record_.detail["memory_inside"] = memory;
    record_.detail["settings"]["used"]["operator_types"] = probe.operator_types();
    Json trace{{"steps", cell_.measure.trace_steps}, {"step_ms", traced.step_ms()}};
    try {
      if (traced.recorded())
        traced.write(*environment_.trace_path, environment_.rank, environment_.world_size,
                     group_ ? cell_.ddp.backend : "");
      else
        trace["absent"] = traced.absent();
    } catch (const std::system_error& error) {
      trace["absent"] = std::string("the trace file cannot be written: ") + error.what();
    }
    record_.detail["trace"] = trace;
  }

  /// A device without a history costs the launch nothing but a note.
  void keep_memory_history() {
    if (!environment_.memory_history_path) return;
    try {
      room_->keep_memory_history();
      history_kept_ = true;
    } catch (const UnsupportedCell& error) {
      record_.detail["notes"].push_back(std::string("no memory history: ") + error.what());
    }
  }

  /// Memory in use outside the allocator at the end of a phase of the start.
  void note_outside_memory() {
    if (const auto mib = room_->outside_mib()) outside_after_[phases_.current()] = *mib;
  }

  void keep_peak_rate() {
    if (cell_.peak_tflops > 0) {
      record_.peak_tflops = cell_.peak_tflops;
      record_.peak_source = "suite";
    } else if (const auto peak = room_->peak_tflops(cell_.precision)) {
      record_.peak_tflops = peak->first;
      record_.peak_source = peak->second;
    }
  }

  /// A loss that is not finite makes the launch `incorrect`, however fast it was.
  void keep_losses(const LoopResult& loop) {
    auto losses = Json::array();
    for (std::size_t i = 0; i <= loop.losses.size(); ++i) {
      const bool last = i == loop.losses.size();
      const auto value = (last ? loop.last_loss : loop.losses[i]).item<double>();
      if (!std::isfinite(value) && record_.status == Status::ok) {
        const auto step = last ? loop.step_ms.size() - 1 : i;
        fail(Status::incorrect, fmt::format("the loss of step {} is not finite", step));
      }
      const Json item = std::isfinite(value) ? Json(value) : Json(nullptr);
      if (last) {
        record_.detail["last_loss"] = item;
      } else {
        losses.push_back(item);
      }
    }
    record_.detail["losses"] = losses;
  }

  void fail(Status status, const std::string& reason) {
    record_.status = status;
    record_.reason = reason.substr(0, 2000);
    if (status == Status::oom && room_) record_.detail["evidence"] = {{"allocator", room_->allocator_numbers()}};
  }

  void describe() {
    record_.phases_s = phases_.seconds();
    auto software = room_ ? room_->software() : Json::object();
    software["torch"] = TORCH_VERSION;
    software["worker"] = STEPGAUGE_VERSION;
    software["compiler"] = __VERSION__;
    if (group_ && !group_->library().empty()) software["mpi"] = group_->library();
    record_.detail["software"] = software;
    record_.detail["environment"] = recorded_variables();
    record_.detail["cpu"] = cpu_placement();
    if (room_) record_.detail["device"] = room_->describe();
  }

  const RankEnvironment& environment_;
  const Cell& cell_;
  TraceLog log_;
  Json outside_after_ = Json::object();
  Progress progress_;
  PhaseClock phases_;
  RankRecord record_;
  std::unique_ptr<DeviceRoom> room_;
  std::unique_ptr<CollectiveLog> collectives_;
  std::unique_ptr<RankGroup> group_;
  std::unique_ptr<workloads::Workload> workload_;
  torch::Tensor held_;
  bool history_kept_ = false;
  std::unique_ptr<StepProgram> program_;
};

}  // namespace

int describe_build() {
  const Json out{{"worker", STEPGAUGE_VERSION},
                 {"torch", TORCH_VERSION},
                 {"cpu_threads", at::get_num_threads()},
                 {"cuda_part", has_part("libstepgauge_cuda.so")},
                 {"cupti_part", has_part("libstepgauge_cupti.so")},
                 {"python_part", has_part("libstepgauge_python.so")},
                 {"mpi_part", has_part("libstepgauge_mpi.so")}};
  std::printf("%s\n", dump_line(out).c_str());
  return 0;
}

int run_rank(long long main_entered_ns) {
  try {
    const auto environment = RankEnvironment::read();
    const auto cell =
        cell_from_json(parse_json(read_text_file(environment.cell_path), environment.cell_path), environment.cell_path);
    // Never destroyed: after a failure the destructors of a process group may wait for peers that are gone,
    // and main leaves by _exit.
    auto* rank = new Rank(environment, cell, main_entered_ns);
    const auto record = rank->run();
    write_text_file(environment.record_path, dump_line(to_json(record)) + "\n");
    if (record.status != Status::ok) {
      std::fprintf(stderr, "stepgauge-worker: rank %d: %s: %s\n", environment.rank,
                   std::string(to_string(record.status)).c_str(), record.reason.c_str());
    }
    return record.status == Status::ok ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stepgauge-worker: %s\n", error.what());
    return 2;
  }
}

}  // namespace stepgauge::worker
