#include "cli/launcher_options.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "config/config_error.hpp"
#include "machine/machine.hpp"

namespace stepgauge::cli {
namespace {

/// The running program: what the engine starts on every host.
std::string own_path() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

}  // namespace

std::string LauncherChoice::why_not(const Cell& cell) const {
  if (!engine) {
    if (cell.ddp.nodes > 1) return fmt::format("{} nodes need --launcher mpirun or srun", cell.ddp.nodes);
    if (cell.ddp.backend == "mpi" && cell.ddp.ranks > 1) return "backend mpi needs --launcher mpirun or srun";
    return {};
  }
  if (!version.problem.empty()) return version.problem;
  return launch::placement_problem(cell, *engine, hosts);
}

std::unique_ptr<launch::Launcher> LauncherChoice::make() const {
  if (!engine) return launch::local_launcher();
  return launch::engine_launcher({*engine, version.program, own_path(), hosts});
}

Json LauncherChoice::json() const {
  Json out{{"name", engine ? to_string(*engine) : std::string_view("local")}};
  if (!version.version.empty()) out["version"] = version.version;
  for (const auto& host : hosts) {
    Json item{{"name", host.name}};
    if (host.slots) item["slots"] = *host.slots;
    out["hosts"].push_back(std::move(item));
  }
  return out;
}

void LauncherOptions::add_to(CLI::App& command) {
  command
      .add_option("--launcher", name, "who places the ranks: local (this program), mpirun (Open MPI) or srun (Slurm)")
      ->check(CLI::IsMember({"local", "mpirun", "srun"}))
      ->capture_default_str();
  auto* list = command.add_option("--hosts", hosts, "hosts for mpirun: NAME[:SLOTS],...");
  command.add_option("--hostfile", hostfile, "file of hosts for mpirun: \"NAME\" or \"NAME slots=N\" a line")
      ->excludes(list);
}

LauncherChoice LauncherOptions::choose() const {
  LauncherChoice out;
  if (name != "local") out.engine = name == "mpirun" ? launch::Engine::mpirun : launch::Engine::srun;
  if (out.engine != launch::Engine::mpirun && !(hosts.empty() && hostfile.empty())) {
    throw config::ConfigError(
        "", 0, 0,
        fmt::format("--{}: only --launcher mpirun takes hosts, this is --launcher {}{}",
                    hosts.empty() ? "hostfile" : "hosts", name, name == "srun" ? " (Slurm chooses them)" : ""));
  }
  try {
    if (!hosts.empty()) out.hosts = launch::parse_hosts(hosts);
    if (!hostfile.empty()) out.hosts = launch::parse_hostfile(read_text_file(hostfile, 1u << 20), hostfile);
  } catch (const std::invalid_argument& error) {
    throw config::ConfigError("", 0, 0, error.what());
  }
  if (out.engine) out.version = launch::find_engine(*out.engine);
  return out;
}

}  // namespace stepgauge::cli
