#pragma once
// Workers in containers: which images a run uses, and where its launches begin.
#include <string>
#include <vector>

#include "cli/suite_options.hpp"
#include "launch/launcher.hpp"

namespace stepgauge::cli {

/// Asks the container engine for the image of a worker's command. Throws ConfigError, with the engine's own words, when
/// there is no engine or no such image.
launch::ContainerImage find_worker_image(const std::vector<std::string>& command);

/// Worker name -> image, as launch::to_json has it, of the workers in containers that cells of the plan use; an empty
/// object without any. What run.json keeps, so that every launch of the run starts the same image. Throws as
/// find_worker_image.
Json worker_images(const Plan& plan);

/// Sets command and container of a launch by a worker whose image was found before; `images` is what worker_images
/// gave. Throws ContractError naming `where` when the image is missing there.
void set_worker(launch::LaunchRequest& request, const std::string& worker, const std::vector<std::string>& command,
                const Json& images, const std::string& where);

/// Why ranks of this cell cannot run in containers; empty when they can.
std::string container_problem(const Cell& cell, const LauncherChoice& launcher);

}  // namespace stepgauge::cli
