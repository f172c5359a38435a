#include "cli/replay_run.hpp"

#include <fmt/format.h>

#include "cli/interrupt.hpp"
#include "cli/suite_options.hpp"
#include "cli/utc.hpp"
#include "cli/worker_containers.hpp"
#include "config/config_error.hpp"
#include "contract/container_command.hpp"
#include "store/output_folder.hpp"

namespace stepgauge::cli {
namespace {

/// What a launch needs to know; there is no workload to build.
Cell cell_of(const Json& plan, const std::string& device, double timeout_s) {
  Cell cell;
  cell.suite = "replay";
  cell.workload = {"collectives", "collectives", {}};
  cell.device = device;
  cell.ddp.ranks = plan.at("world_size").get<int>();
  cell.ddp.backend = device == "cuda" ? "nccl" : "gloo";
  cell.measure.trace_steps = 0;
  cell.measure.parity_steps = 0;
  cell.stall_alarm = 0;
  cell.limits.launch_s = timeout_s;
  cell.limits.silence_s = timeout_s;  // many collectives pass without a word
  cell.launches = 1;
  assign_identity(cell);
  return cell;
}

std::string device_of(const ReplayRun& options, int ranks, const machine::Machine& machine) {
  if (!options.device.empty()) return options.device;
  return machine.gpus.size() >= static_cast<std::size_t>(ranks) ? "cuda" : "cpu";
}

}  // namespace

ReplayResult run_plan(const Json& plan, const ReplayRun& options, const std::string& program_name) {
  ReplayResult out;
  out.folder = options.out.empty() ? fmt::format("runs/replay-{}", utc_now("%Y%m%d-%H%M%S")) : options.out;
  if (std::filesystem::exists(out.folder))
    throw config::ConfigError("", 0, 0, fmt::format("--out {}: it is there already", out.folder.string()));
  const auto ranks = plan.at("world_size").get<int>();
  if (ranks < 2) {
    out.problem = "the logs are of a single rank, which has nobody to talk to";
    return out;
  }
  const auto machine = machine::inspect();
  const auto choice = options.launcher.choose();
  SuiteOptions all_devices;
  launch::LaunchRequest request;
  request.cell = cell_of(plan, device_of(options, ranks, machine), options.timeout_s);
  request.devices = devices_of(request.cell, chosen_devices(all_devices, machine));
  if (auto reason = choice.why_not(request.cell); !reason.empty()) out.problem = std::move(reason);
  if (const auto unmet = machine::unmet_requirement(request.cell, machine, request.devices); unmet && !choice.engine)
    out.problem = *unmet;
  if (!out.problem.empty()) return out;
  const auto command = options.worker.empty() ? std::vector<std::string>{built_in_worker(program_name).string()}
                                              : split_command(options.worker);
  request.command = command;
  if (is_container(command)) {
    out.problem = container_problem(request.cell, choice);
    if (!out.problem.empty()) return out;
    request.command = container_command(command).program;
    request.container = find_worker_image(command);
  }
  store::make_output_folder(out.folder);
  request.folder = out.folder;
  request.replay_plan = out.folder / "plan.json";
  write_text_file(request.replay_plan.string(), dump_line(plan) + "\n");
  const InterruptWatch interrupt;
  request.interrupt_fd = interrupt.fd();
  const auto outcome = choice.make()->launch(request, {});
  if (outcome.status != Status::ok) {
    out.problem = fmt::format("{}: {}", to_string(outcome.status), outcome.reason);
  } else if (const auto& detail = outcome.ranks.front().record->detail; detail.contains("replay")) {
    out.replay = detail.at("replay");
  } else {
    out.problem = "the worker's record has no \"replay\"";
  }
  return out;
}

}  // namespace stepgauge::cli
