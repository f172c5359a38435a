#include "cli/worker_containers.hpp"

#include <fmt/format.h>

#include "config/config_error.hpp"
#include "contract/container_command.hpp"

namespace stepgauge::cli {

launch::ContainerImage find_worker_image(const std::vector<std::string>& command) {
  try {
    return launch::find_container_image(container_command(command).image, machine::all_variables());
  } catch (const launch::ContainerError& error) {
    throw config::ConfigError("", 0, 0, error.what());
  }
}

Json worker_images(const Plan& plan) {
  Json out = Json::object();
  for (const auto& cell : plan.cells) {
    const auto& command = plan.commands.at(cell.worker);
    if (is_container(command) && !out.contains(cell.worker)) out[cell.worker] = to_json(find_worker_image(command));
  }
  return out;
}

void set_worker(launch::LaunchRequest& request, const std::string& worker, const std::vector<std::string>& command,
                const Json& images, const std::string& where) {
  request.command = command;
  if (!is_container(command)) return;
  request.command = container_command(command).program;
  request.container = launch::container_image_from_json(require<Json>(images, worker.c_str(), where),
                                                        fmt::format("{}: {}", where, worker));
}

std::string container_problem(const Cell& cell, const LauncherChoice& launcher) {
  if (cell.ddp.nodes > 1 || launcher.engine)
    return "its worker runs in a container: ranks across hosts, or placed by mpirun or srun, are not supported there";
  if (cell.ddp.backend == "mpi" && cell.ddp.ranks > 1)
    return "its worker runs in a container: backend mpi needs mpirun or srun, which do not place containers";
  return "";
}

}  // namespace stepgauge::cli
