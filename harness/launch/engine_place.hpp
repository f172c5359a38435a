#pragma once
#include <string>

#include "launch/engine.hpp"
#include "machine/variables.hpp"

namespace stepgauge::launch {

/// Where an engine put a rank.
struct EnginePlace {
  int rank = 0, ranks = 1;
  int local_rank = 0, local_ranks = 1;  ///< on this host
};

/// From what the engine told the process: OMPI_COMM_WORLD_* (Open MPI); SLURM_PROCID, SLURM_LOCALID, SLURM_NODEID,
/// SLURM_STEP_NUM_TASKS, SLURM_STEP_TASKS_PER_NODE (Slurm). Throws std::invalid_argument naming the variable that is
/// missing or no number, or that does not fit the others.
EnginePlace engine_place(Engine engine, const machine::Variables& variables);

/// The n-th number (from 0) of a list such as "2(x3),1". Throws std::invalid_argument.
int tasks_on_node(const std::string& list, int node);

/// What a worker that calls MPI_Init needs of the engine's own variables. No tokens of the job manager are among them.
machine::Variables mpi_variables(const machine::Variables& variables);

}  // namespace stepgauge::launch
