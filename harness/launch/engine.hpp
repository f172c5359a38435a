#pragma once
// Engines that place ranks on hosts: mpirun (Open MPI) and srun (Slurm). Which one, on which hosts, by which command.
#include <optional>
#include <string>
#include <vector>

#include "contract/cell.hpp"

namespace stepgauge::launch {

enum class Engine { mpirun, srun };

std::string_view to_string(Engine engine);

/// A host that the user named.
struct EngineHost {
  std::string name;
  std::optional<int> slots;  ///< ranks that it may take; absent: as many as a cell asks for
};

struct EngineOptions {
  Engine engine = Engine::mpirun;
  std::string program;            ///< path of mpirun or srun
  std::string agent;              ///< path of the program whose `rank-agent` the engine starts on each place
  std::vector<EngineHost> hosts;  ///< mpirun; empty: this host, or those of the job that this process is in
};

/// "a,b:4" or "a slots=4": names of letters, digits, ".", "-" and "_", or addresses. Throws std::invalid_argument
/// naming the text for an empty or malformed name, slots that are no number from 1 on, or a host that stands twice.
std::vector<EngineHost> parse_hosts(const std::string& text);

/// One host a line, "name" or "name slots=N"; "#" begins a comment. Throws std::invalid_argument "FILE:LINE: ...".
std::vector<EngineHost> parse_hostfile(const std::string& text, const std::string& origin);

struct EngineVersion {
  std::string version;  ///< "Open MPI 4.1.4", "slurm 22.05.8"; empty: not usable
  std::string program;  ///< path
  std::string problem;  ///< why it is not usable and what to install
};

/// Asks the engine on PATH for its version.
EngineVersion find_engine(Engine engine);

/// This process runs inside a job of Slurm (or, for mpirun, of another manager that Open MPI asks for its hosts).
bool inside_allocation(Engine engine);

/// Why the cell cannot be placed on these hosts; empty when it can.
std::string placement_problem(const Cell& cell, Engine engine, const std::vector<EngineHost>& hosts);

/// The whole command line. `folder`: the launch's, absolute.
std::vector<std::string> engine_command(const EngineOptions& options, const Cell& cell, const std::string& folder);

/// What the engine said on standard error, read for what it knows better than anybody else.
struct EngineWords {
  bool cancelled = false;     ///< Slurm cancelled the job or its step
  std::string cancelled_why;  ///< "DUE TO TIME LIMIT"; may be empty
  std::string lost_host;      ///< a host that it lost; empty: none
};
EngineWords read_engine_words(Engine engine, std::string_view text);

}  // namespace stepgauge::launch
