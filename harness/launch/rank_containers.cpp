#include "launch/rank_containers.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <stdexcept>

namespace stepgauge::launch {
namespace {

namespace fs = std::filesystem;

constexpr int engine_failed = 125;  ///< exit code of podman and docker: the container was not run, or was lost

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

/// What the ranks read and write on this host, at the same paths inside: the launch's folder, caches, a plan of
/// collectives, a topology file. Nothing twice.
std::vector<std::string> mounts_of(const LaunchRequest& request) {
  std::vector<fs::path> wanted{request.folder, request.caches, request.replay_plan, request.cell.ddp.topology_file};
  std::erase_if(wanted, [](const fs::path& path) { return path.empty(); });
  for (auto& path : wanted) path = fs::absolute(path).lexically_normal();
  std::vector<std::string> out;
  std::vector<fs::path> mounted;
  for (const auto& path : wanted) {
    if (std::any_of(mounted.begin(), mounted.end(), [&](const fs::path& one) { return is_below(path, one); })) continue;
    if (path.string().find_first_of(",:\"\n") != std::string::npos)
      throw std::invalid_argument(fmt::format(
          "{}: a path with a comma, colon, quote or line break cannot be mounted into a container", path.string()));
    mounted.push_back(path);
    out.push_back(path.string());
  }
  return out;
}

}  // namespace

RankContainers::RankContainers(const LaunchRequest& request)
    : image_(request.container.value()),
      program_(request.command),
      mounts_(mounts_of(request)),
      gpus_(request.cell.device == "cuda") {}

void RankContainers::fill(SpawnPlan& plan, const RankPlace& place, const Variables& shell, const Variables& rank) {
  name_ = fmt::format("stepgauge-{}-rank", place.launch_id);
  ContainerPlace container;
  container.name = name_of(place.rank);
  container.program = program_;
  container.mounts = mounts_;
  container.variables = container_variables(rank);
  container.gpus = gpus_;
  container.descriptors = place.progress_fd < 0 ? 0 : place.store_fd ? 2 : 1;
  container.user = ::getuid();
  container.group = ::getgid();
  plan.program = image_.program;
  plan.arguments = container_arguments(image_, container);
  plan.environment.clear();
  for (const auto& [name, value] : client_environment(image_, shell, rank, container.variables))
    plan.environment.push_back(name + "=" + value);
  // A client that is killed leaves its container behind; one that is asked to end passes that on.
  if (image_.outlives_client()) plan.death_signal = SIGTERM;
}

void RankContainers::ended(int rank, int exit_code) {
  if (exit_code != engine_failed) std::erase(open_, rank);
}

void RankContainers::end_all() noexcept {
  try {
    for (const int rank : open_) {
      if (auto problem = end_container(image_, name_of(rank)); !problem.empty()) notes_.push_back(std::move(problem));
    }
  } catch (const std::exception&) {  // no memory, no process: the engine cannot be asked
  }
  open_.clear();
}

void RankContainers::tell_signal(RankExit& rank) const {
  if (!image_.outlives_client() || !rank.exit_code) return;
  const int signal = *rank.exit_code - 128;
  if (signal <= 0 || signal >= NSIG) return;
  rank.exit_code.reset();
  rank.signal = signal;
}

std::string RankContainers::failure(const std::vector<RankExit>& ranks) const {
  for (const auto& rank : ranks) {
    if (rank.record || rank.killed_by_harness || !rank.exit_code || !rank.last_phase.empty()) continue;
    const auto words = rank.last_lines.empty() ? std::string() : rank.last_lines.back();
    if (auto reason = container_failure(image_, program_.front(), *rank.exit_code, words); !reason.empty())
      return reason;
  }
  return "";
}

}  // namespace stepgauge::launch
