#include "worker/rank_passes.hpp"

#include <stdexcept>
#include <system_error>

#include "worker/parallel/ideal.hpp"
#include "worker/parallel/replay.hpp"
#include "worker/parallel/sweep.hpp"
#include "worker/parity/parity.hpp"
#include "worker/rank_record.hpp"
#include "worker/step_loop.hpp"

namespace stepgauge::worker {
namespace {

class Passes {
 public:
  Passes(RankParts& parts, RankRecord& record)
      : parts_(parts),
        cell_(parts.cell),
        record_(record),
        tracing_(parts.environment.trace_path && cell_.measure.trace_steps > 0),
        first_(*parts.room, StepProbe::Types::not_looked_at),
        settled_(*parts.room, StepProbe::Types::seen),
        traced_(parts.log, *parts.room) {}

  void run() {
    const auto loop = measure();
    parts_.progress.phase("finish");
    record_loop(record_, loop, cell_, *parts_.workload, *parts_.room);
    record_program(record_, *parts_.program);  // here: what is compiled below is not the measured steps' doing
    if (tracing_) keep_inside(loop);
    if (parts_.history_kept) write_text_file(*parts_.environment.memory_history_path, parts_.room->memory_history());
    sweep();
    keep_mode(loop);
    keep_communication(loop);  // behind what graphs hold: without reduction a step is another graph
    verify();
    parts_.program.reset();  // before the group: a communicator waits for the graphs that captured it
    if (parts_.group) parts_.group->shutdown();
  }

 private:
  LoopResult measure() {
    auto* const group = parts_.group.get();
    LoopExtras extras;
    if (tracing_) extras = {&first_, &settled_, &traced_};
    if (group != nullptr) {
      extras.traffic = [group] { return group->traffic(); };
      extras.plant = [group](const std::string& fault) { group->plant(fault); };
    }
    auto loop = run_loop(
        *parts_.program, cell_, *parts_.room, parts_.progress, parts_.environment.rank,
        [group](double value) { return group != nullptr ? group->max_over_ranks(value) : value; }, extras);
    if (loop.outside_mib) parts_.outside_after["steps"] = *loop.outside_mib;
    return loop;
  }

  /// What the probes and the traced pass found; a trace that cannot be written costs the launch nothing else.
  void keep_inside(const LoopResult& loop) {
    record_probes(record_, first_, settled_, loop, parts_.outside_after);
    const auto& environment = parts_.environment;
    Json trace{{"steps", cell_.measure.trace_steps}, {"step_ms", traced_.step_ms()}};
    try {
      if (traced_.recorded())
        traced_.write(*environment.trace_path, environment.rank, environment.world_size,
                      parts_.group ? cell_.ddp.backend : "");
      else
        trace["absent"] = traced_.absent();
    } catch (const std::system_error& error) {
      trace["absent"] = std::string("the trace file cannot be written: ") + error.what();
    }
    record_.detail["trace"] = trace;
  }

  void sweep() {
    if (!parts_.group || !cell_.measure.allreduce_sweep) return;
    parts_.progress.phase("sweep");
    if (parts_.collectives) parts_.collectives->pause();
    record_.detail["communication"].update(sweep_all_reduce(*parts_.group, *parts_.room));
    if (parts_.collectives) parts_.collectives->resume();
  }

  /// What checkpointing did and what the mode leaves behind.
  void keep_mode(const LoopResult& loop) {
    record_mode(record_, *parts_.program, cell_, loop);
    if (cell_.measure.ir_census) {
      parts_.progress.phase("census");
      record_.detail["ir_census"] = parts_.program->ir_census();
    }
    if (record_.status == Status::ok) parts_.program->finish();
  }

  /// How gradients were reduced, and what the limit would be.
  void keep_communication(const LoopResult& loop) {
    if (!parts_.group) return;
    auto out = communication_json(cell_.ddp, *parts_.program, loop);
    if (cell_.measure.allreduce_sweep && record_.status == Status::ok) {
      parts_.progress.phase("probe");
      out["ideal"] = measure_ideal(*parts_.program, *parts_.room, *parts_.group, loop);
    }
    record_.detail["communication"].update(out);
  }

  /// A result counts only when the program that was measured computes what eager does.
  void verify() {
    if (cell_.measure.parity_steps == 0 || record_.status != Status::ok) return;
    parts_.progress.phase("verify");
    record_parity(record_, check_parity(std::move(parts_.program), cell_, *parts_.workload, *parts_.room,
                                        parts_.environment.rank, parts_.group.get()));
  }

  RankParts& parts_;
  const Cell& cell_;
  RankRecord& record_;
  const bool tracing_;
  StepProbe first_, settled_;
  TracedPass traced_;
};

}  // namespace

void run_passes(RankParts& parts, RankRecord& record) {
  Passes(parts, record).run();
}

void run_replay(RankParts& parts, RankRecord& record) {
  if (!parts.group) throw std::runtime_error("a replay of collectives needs at least two ranks");
  parts.progress.phase("replay");
  record.detail["replay"] = replay_plan(*parts.environment.replay_path, *parts.group, *parts.room);
  parts.group->shutdown();
}

}  // namespace stepgauge::worker
