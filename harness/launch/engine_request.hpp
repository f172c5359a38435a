#pragma once
// engine.json: what the launcher tells the agents of one launch, in the launch's folder.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/engine.hpp"
#include "launch/launcher.hpp"
#include "machine/variables.hpp"

namespace stepgauge::launch {

inline constexpr const char* engine_file_name = "engine.json";
inline constexpr const char* stop_file_name = "stop";                 ///< there once the launch is to end
inline constexpr const char* launcher_alive_name = "launcher.alive";  ///< grows while the launcher lives

struct EngineRequest {
  Engine engine = Engine::mpirun;
  std::string launch_id;
  int launch = 0;
  int ranks = 1, nodes = 1;
  std::vector<std::string> command;
  std::string folder_of_work;  ///< where the launcher was started; relative paths of `command` count from here
  std::string cell_hash;
  std::string cell_sha256;                          ///< of cell.json
  std::map<std::string, std::string> files_sha256;  ///< worker program, and arguments that name a file
  std::vector<int> devices;                         ///< CUDA indices, the same on each host
  std::string caches;                               ///< as LaunchRequest::caches
  std::string replay_plan;                          ///< as LaunchRequest::replay_plan
  bool memory_history = false;
  machine::Variables shell;  ///< allow-listed variables of the launcher's shell
};

/// Reads what the launch consists of here. Throws std::system_error for a file that cannot be read.
EngineRequest make_engine_request(const LaunchRequest& request, Engine engine, const std::string& launch_id);

Json to_json(const EngineRequest& request);
/// Throws ContractError.
EngineRequest engine_request_from_json(const Json& value, std::string_view origin);

/// Why a rank on this host would not be the same program with the same cell: "... differs from the launcher's ...".
/// Empty when all is the same.
std::string digest_problem(const EngineRequest& request, const std::filesystem::path& folder);

/// Whether `folder` holds `name` now. A network file system may remember for long that a file was missing; opening the
/// folder makes it look again.
bool is_there(const std::filesystem::path& folder, const char* name);

}  // namespace stepgauge::launch
