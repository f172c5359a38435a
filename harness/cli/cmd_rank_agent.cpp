// stepgauge rank-agent FOLDER: one rank of a launch, on the host where an engine put it. Not for people.
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "launch/rank_agent.hpp"

namespace stepgauge::cli {

void add_rank_agent(Program& program) {
  auto folder = std::make_shared<std::string>();
  auto* command = program.app.add_subcommand("rank-agent", "one rank of a launch, started by mpirun or srun");
  command->group("");  // hidden
  command->add_option("folder", *folder, "folder of the launch")->required();
  command->callback([folder] {
    const InterruptWatch signals;
    launch::run_rank_agent(*folder, signals.fd());
  });
}

}  // namespace stepgauge::cli
