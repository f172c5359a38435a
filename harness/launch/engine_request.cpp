#include "launch/engine_request.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "contract/digest.hpp"
#include "launch/environment.hpp"
#include "machine/unique_fd.hpp"

namespace stepgauge::launch {
namespace {

constexpr int engine_request_version = 1;
constexpr std::uintmax_t max_argument_bytes = 64u << 20;

/// The program, and each argument that names a file of modest size: a script is as much the worker as its interpreter.
std::vector<std::string> files_of(const std::vector<std::string>& command, const machine::Variables& shell) {
  std::vector<std::string> out;
  if (auto program = find_worker(command.front(), shell); !program.empty()) out.push_back(std::move(program));
  for (std::size_t i = 1; i < command.size(); ++i) {
    std::error_code error;
    if (std::filesystem::is_regular_file(command[i], error) &&
        std::filesystem::file_size(command[i], error) <= max_argument_bytes)
      out.push_back(command[i]);
  }
  return out;
}

std::string here(const std::string& path) {
  try {
    return sha256_hex_of_file(path);
  } catch (const std::system_error& error) {
    return error.code().message();
  }
}

std::string differs(const std::string& what, const std::string& mine, const std::string& asked) {
  return fmt::format("{} differs from the launcher's: SHA-256 {} here, {} there", what, mine.substr(0, 40),
                     asked.substr(0, 12));
}

}  // namespace

EngineRequest make_engine_request(const LaunchRequest& request, Engine engine, const std::string& launch_id) {
  EngineRequest out;
  out.engine = engine;
  out.launch_id = launch_id;
  out.launch = request.launch;
  out.ranks = request.cell.ddp.ranks;
  out.nodes = request.cell.ddp.nodes;
  out.command = request.command;
  out.folder_of_work = std::filesystem::current_path().string();
  out.cell_hash = request.cell.hash;
  out.cell_sha256 = sha256_hex_of_file((request.folder / cell_file_name).string());
  out.devices = request.devices;
  out.caches = request.caches.empty() ? "" : std::filesystem::absolute(request.caches).string();
  out.replay_plan = request.replay_plan.empty() ? "" : std::filesystem::absolute(request.replay_plan).string();
  out.memory_history = request.memory_history;
  for (const auto& [name, value] : machine::all_variables()) {
    if (machine::is_passed_variable(name) && name != "CUDA_VISIBLE_DEVICES") out.shell.emplace(name, value);
  }
  for (const auto& path : files_of(request.command, out.shell)) {
    out.files_sha256[std::filesystem::absolute(path).string()] = sha256_hex_of_file(path);
  }
  return out;
}

Json to_json(const EngineRequest& request) {
  return {{"schema", "stepgauge.engine"},
          {"version", engine_request_version},
          {"engine", to_string(request.engine)},
          {"launch_id", request.launch_id},
          {"launch", request.launch},
          {"ranks", request.ranks},
          {"nodes", request.nodes},
          {"command", request.command},
          {"folder_of_work", request.folder_of_work},
          {"cell_hash", request.cell_hash},
          {"cell_sha256", request.cell_sha256},
          {"files_sha256", request.files_sha256},
          {"devices", request.devices},
          {"caches", request.caches},
          {"replay_plan", request.replay_plan},
          {"memory_history", request.memory_history},
          {"shell", request.shell}};
}

EngineRequest engine_request_from_json(const Json& value, std::string_view origin) {
  const std::string where(origin);
  if (require<std::string>(value, "schema", where) != "stepgauge.engine") {
    throw ContractError(where + ": not the request of a launcher");
  }
  if (const auto version = require<int>(value, "version", where); version != engine_request_version) {
    throw ContractError(fmt::format("{}: version {}, this program knows {}: another build than the launcher's", where,
                                    version, engine_request_version));
  }
  EngineRequest out;
  const auto engine = require<std::string>(value, "engine", where);
  if (engine != "mpirun" && engine != "srun") throw ContractError(fmt::format("{}: engine \"{}\"", where, engine));
  out.engine = engine == "mpirun" ? Engine::mpirun : Engine::srun;
  out.launch_id = require<std::string>(value, "launch_id", where);
  out.launch = require<int>(value, "launch", where);
  out.ranks = require<int>(value, "ranks", where);
  out.nodes = require<int>(value, "nodes", where);
  out.command = require<std::vector<std::string>>(value, "command", where);
  if (out.command.empty()) throw ContractError(where + ": the command is empty");
  out.folder_of_work = require<std::string>(value, "folder_of_work", where);
  out.cell_hash = require<std::string>(value, "cell_hash", where);
  out.cell_sha256 = require<std::string>(value, "cell_sha256", where);
  out.files_sha256 = require<std::map<std::string, std::string>>(value, "files_sha256", where);
  out.devices = require<std::vector<int>>(value, "devices", where);
  out.caches = require<std::string>(value, "caches", where);
  out.replay_plan = require<std::string>(value, "replay_plan", where);
  out.memory_history = require<bool>(value, "memory_history", where);
  const auto shell = require<std::map<std::string, std::string>>(value, "shell", where);
  out.shell = {shell.begin(), shell.end()};
  return out;
}

std::string digest_problem(const EngineRequest& request, const std::filesystem::path& folder) {
  if (const auto mine = here((folder / cell_file_name).string()); mine != request.cell_sha256) {
    return differs("cell.json", mine, request.cell_sha256);
  }
  for (const auto& [path, asked] : request.files_sha256) {
    if (const auto mine = here(path); mine != asked) return differs(path, mine, asked);
  }
  return {};
}

bool is_there(const std::filesystem::path& folder, const char* name) {
  const machine::UniqueFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  return opened && ::fstatat(opened.get(), name, &info, 0) == 0;
}

}  // namespace stepgauge::launch
