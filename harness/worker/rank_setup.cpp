#include "worker/rank_setup.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace stepgauge::worker {

RankSetup::RankSetup(RankParts& parts, std::int64_t main_entered_ns)
    : parts_(parts), phases_(parts.progress, parts.environment.spawn_ns.value_or(main_entered_ns), parts.cell.perturb) {
  phases_.finish_spawn(main_entered_ns);
}

/// Runs a phase and notes the memory in use outside the allocator at its end.
template <typename Work>
void RankSetup::phase(const char* name, Work&& work) {
  phases_.begin(name);
  work();
  phases_.end();
  if (const auto mib = parts_.room->outside_mib()) parts_.outside_after[name] = *mib;
}

void RankSetup::start() {
  refuse_unknown_modes();
  const auto& cell = parts_.cell;
  phase("runtime", [&] {
    if (is_python_mode(cell.compile)) start_python();
    parts_.room = cell.device == "cuda" ? make_cuda_room(parts_.environment.local_rank) : make_cpu_room();
    keep_memory_history();
    if (is_cuda_graph_mode(cell.compile)) parts_.room->leave_default_stream();
  });
  if (parts_.environment.world_size < 2) return;
  phase("rendezvous", [&] {
    if (cell.measure.collective_log) keep_collectives();
    if (cell.ddp.overlap == "high_priority_stream") parts_.room->prefer_high_priority();
    parts_.group =
        std::make_unique<RankGroup>(parts_.environment, cell, *parts_.room, parts_.log, parts_.collectives.get());
  });
}

void RankSetup::prepare() {
  phase("build", [&] {
    build();
    parts_.room->synchronize();
  });
  if (parts_.group) {
    phase("wrap", [&] {
      parts_.program->wrap(*parts_.group);
      parts_.room->synchronize();
    });
  }
  if (parts_.cell.compile != "eager") {
    phase("compile", [&] {
      parts_.program->prepare();
      parts_.room->synchronize();
    });
  }
}

void RankSetup::refuse_unknown_modes() const {
  const auto& cell = parts_.cell;
  if (const auto reason = unsupported_reason(cell); !reason.empty()) throw UnsupportedCell(reason);
  if (cell.ddp.ranks != parts_.environment.world_size) {
    throw std::runtime_error(
        fmt::format("the cell has {} ranks, WORLD_SIZE is {}", cell.ddp.ranks, parts_.environment.world_size));
  }
}

/// A device without a history costs the launch nothing but a note.
void RankSetup::keep_memory_history() {
  if (!parts_.environment.memory_history_path) return;
  try {
    parts_.room->keep_memory_history();
    parts_.history_kept = true;
  } catch (const UnsupportedCell& error) {
    parts_.notes.push_back(std::string("no memory history: ") + error.what());
  }
}

void RankSetup::keep_collectives() {
  const auto& environment = parts_.environment;
  parts_.collectives = std::make_unique<CollectiveLog>(
      environment.collectives_path(),
      CollectiveLog::Facts{environment.rank, environment.world_size, parts_.cell.ddp.backend, environment.launch_id},
      parts_.room->make_stamps());
  parts_.collectives->phase(phases_.current());
  parts_.progress.on_phase([log = parts_.collectives.get()](std::string_view name) { log->phase(name); });
}

void RankSetup::build() {
  const auto& cell = parts_.cell;
  const auto& environment = parts_.environment;
  parts_.workload = workloads::make_workload(cell.workload.family, cell.workload.sizes);
  if (cell.perturb.extra_memory_mib > 0) {
    parts_.held = torch::ones({cell.perturb.extra_memory_mib << 20},
                              torch::TensorOptions().device(parts_.room->device()).dtype(torch::kUInt8));
  }
  parts_.program = make_program(
      cell, *parts_.workload, *parts_.room,
      {environment.rank, environment.world_size, cell.measure.graphs ? environment.graphs_path() : std::string()});
}

}  // namespace stepgauge::worker
