#pragma once
#include <string>

#include "cli/commands.hpp"
#include "cli/suite_options.hpp"
#include "store/run_folder.hpp"

namespace stepgauge::cli {

/// What run.json says of a run of this plan that begins now. Throws ConfigError when the image of a worker in a
/// container is not here.
store::RunInfo new_run_info(const Plan& plan, const std::string& suite_path, const Program& program);

/// `suite_hash` of a run of this suite.
std::string suite_hash(const std::string& suite_path);

/// Opens a run to go on with it, when its suite and its launcher are still the same; tells of a torn journal. Throws
/// ConfigError otherwise, and as RunFolder::resume.
store::RunFolder resume_run(const std::string& folder, const std::string& suite_path, const LauncherChoice& launcher);

/// Says on standard error when /dev/shm is so small that NCCL's transport over shared memory may fail, the first thing
/// to do so in a container.
void warn_about_shared_memory(const Plan& plan);

}  // namespace stepgauge::cli
