#include "cli/new_run_info.hpp"

#include <fmt/format.h>

#include "cli/utc.hpp"
#include "cli/worker_containers.hpp"
#include "contract/digest.hpp"
#include "machine/variables.hpp"
#include "store/fingerprint.hpp"

namespace stepgauge::cli {

std::string suite_hash(const std::string& suite_path) {
  return sha256_hex(read_text_file(suite_path));
}

store::RunInfo new_run_info(const Plan& plan, const std::string& suite_path, const Program& program) {
  store::RunInfo info;
  info.suite = plan.suite.name;
  info.suite_path = suite_path;
  info.suite_hash = suite_hash(suite_path);
  info.command = program.arguments;
  info.created_at = utc_now();
  info.environment = to_json(plan.machine);
  info.environment["variables"] = machine::recorded_variables();
  if (auto images = worker_images(plan); !images.empty()) info.environment["containers"] = std::move(images);
  bool uses_gpu = false;
  for (const auto& cell : plan.cells) uses_gpu = uses_gpu || cell.device == "cuda";
  info.fingerprint = store::fingerprint(info.environment, uses_gpu);
  info.cells = plan.cells;
  info.skipped = plan.skipped;
  info.workers = plan.commands;
  info.launcher = plan.launcher.json();
  if (plan.shard.count > 1) info.shard = {{"index", plan.shard.index}, {"count", plan.shard.count}};
  return info;
}

store::RunFolder resume_run(const std::string& path, const std::string& suite_path, const LauncherChoice& launcher) {
  auto folder = store::RunFolder::resume(path);
  if (folder.info().suite_hash != suite_hash(suite_path)) {
    throw config::ConfigError("", 0, 0,
                              fmt::format("{}: {} has changed since the run began; start a new run", path, suite_path));
  }
  const auto& before = folder.info().launcher;
  if (!before.is_null() && before.at("name") != launcher.json().at("name")) {
    throw config::ConfigError("", 0, 0,
                              fmt::format("{}: the run began with --launcher {}; go on with the same", path,
                                          before.at("name").get<std::string>()));
  }
  if (folder.torn_line())
    fmt::print(stderr, "stepgauge: a torn last line of the journal was set aside (records.jsonl.torn)\n");
  return folder;
}

void warn_about_shared_memory(const Plan& plan) {
  if (!plan.machine.shm || plan.machine.shm->free_bytes >= (std::uint64_t{64} << 20)) return;
  for (const auto& cell : plan.cells) {
    if (cell.ddp.ranks < 2 || cell.device != "cuda") continue;
    fmt::print(
        stderr,
        "stepgauge: /dev/shm has {} MiB free; NCCL's shared-memory transport may fail (--shm-size in a container)\n",
        plan.machine.shm->free_bytes >> 20);
    return;
  }
}

}  // namespace stepgauge::cli
