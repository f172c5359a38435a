#include "launch/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "launch/rank_process.hpp"

namespace stepgauge::launch {
namespace {

constexpr auto devices_variable = "CUDA_VISIBLE_DEVICES";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (start < text.size()) {
    const auto comma = std::min(text.find(',', start), text.size());
    const auto first = text.find_first_not_of(' ', start);
    const auto last = text.find_last_not_of(' ', comma - 1);
    parts.push_back(first < comma ? text.substr(first, last - first + 1) : std::string());
    start = comma + 1;
  }
  return parts;
}

/// `devices` are positions in the shell's own mask where there is one.
std::string device_mask(const Variables& shell, const std::vector<int>& devices) {
  const auto mask = shell.find(devices_variable);
  const auto shown = mask == shell.end() ? std::vector<std::string>() : split(mask->second);
  std::string out;
  for (const int device : devices) {
    auto name = std::to_string(device);
    if (mask != shell.end()) {
      if (device < 0 || static_cast<std::size_t>(device) >= shown.size()) {
        throw std::invalid_argument(fmt::format("GPU {} is asked for, {}=\"{}\" shows {}", device, devices_variable,
                                                mask->second, shown.size()));
      }
      name = shown[static_cast<std::size_t>(device)];
    }
    if (!out.empty()) out += ',';
    out += name;
  }
  return out;
}

/// What the settings of the cell mean in variables; its `env` may replace them.
Variables implied(const Cell& cell, const RankPlace& place) {
  Variables out;
  const auto& transport = cell.ddp.transport;
  const bool network = transport == "socket" || transport == "ib";
  if (transport == "p2p_off" || network) out.emplace("NCCL_P2P_DISABLE", "1");
  if (network) out.emplace("NCCL_SHM_DISABLE", "1");
  if (network) out.emplace("NCCL_NET", transport == "ib" ? "IB" : "Socket");
  if (const auto& interface = cell.ddp.interface; !interface.empty()) {
    out.emplace("NCCL_SOCKET_IFNAME", "=" + interface);  // this one exactly, not all that begin so
    out.emplace("GLOO_SOCKET_IFNAME", interface);
    if (cell.ddp.backend == "mpi") out.emplace("OMPI_MCA_btl_tcp_if_include", interface);
  }
  if (!place.cache_path.empty()) {  // not the user's own caches: they would make a cold start warm, and the other way
    out.emplace("TORCHINDUCTOR_CACHE_DIR", place.cache_path + "/inductor");
    out.emplace("TRITON_CACHE_DIR", place.cache_path + "/triton");
    out.emplace("CUDA_CACHE_PATH", place.cache_path + "/cuda");
  }
  return out;
}

/// What holds unless the shell says otherwise.
Variables defaults(const Cell& cell, const RankPlace& place) {
  Variables out{{"PYTHONUNBUFFERED", "1"}};
  if (cell.device == "cuda") {
    out.emplace("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    if (cell.ddp.ranks > 1 && !place.nccl_log_path.empty()) {
      out.emplace("NCCL_DEBUG", "INFO");  // the only way in which NCCL tells what it really uses
      out.emplace("NCCL_DEBUG_SUBSYS", "INIT,ENV,P2P,SHM,NET,GRAPH");
      out.emplace("NCCL_DEBUG_FILE", place.nccl_log_path);
    }
  } else {
    out["OMP_NUM_THREADS"] = std::to_string(std::max(1, place.usable_cores / std::max(1, place.local_world_size)));
  }
  return out;
}

Variables contract_variables(const Cell& cell, const RankPlace& place) {
  const auto rank = std::to_string(place.rank);
  const auto ranks = std::to_string(cell.ddp.ranks);
  Variables out{{"STEPGAUGE_CELL", place.cell_path},
                {"STEPGAUGE_RECORD", place.record_path},
                {"STEPGAUGE_PROGRESS_FD", std::to_string(place.progress_fd)},
                {"STEPGAUGE_LAUNCH", std::to_string(place.launch)},
                {"STEPGAUGE_LAUNCH_ID", place.launch_id},
                {"STEPGAUGE_SPAWN_NS", std::to_string(place.spawn_ns)},
                {"RANK", rank},
                {"LOCAL_RANK", std::to_string(place.local_rank)},
                {"WORLD_SIZE", ranks},
                {"LOCAL_WORLD_SIZE", std::to_string(place.local_world_size)}};
  if (cell.ddp.ranks > 1) {
    out.emplace("MASTER_ADDR", place.master_address);
    out["MASTER_PORT"] = std::to_string(place.master_port);
  }
  if (!place.trace_path.empty()) out["STEPGAUGE_TRACE"] = place.trace_path;
  if (!place.cache_path.empty()) out["STEPGAUGE_CACHE_DIR"] = place.cache_path;
  if (!place.memory_history_path.empty()) out["STEPGAUGE_MEMORY_HISTORY"] = place.memory_history_path;
  if (place.store_fd) out["STEPGAUGE_STORE_FD"] = std::to_string(*place.store_fd);
  if (place.used_before_mib) out["STEPGAUGE_DEVICE_USED_MIB"] = std::to_string(*place.used_before_mib);
  return out;
}

}  // namespace

RankEnvironment rank_environment(const Variables& shell, const Cell& cell, const RankPlace& place) {
  RankEnvironment out;
  auto asked = implied(cell, place);
  for (const auto& [name, value] : cell.env) asked[name] = value;
  const auto contract = contract_variables(cell, place);

  for (const auto& [name, value] : shell) {
    if (machine::is_passed_variable(name)) out.variables[name] = value;
  }
  for (const auto& [name, value] : asked) {
    const auto found = out.variables.find(name);
    if (found != out.variables.end() && found->second != value) {
      out.conflicts.push_back({name, found->second, value});
    }
    out.variables[name] = value;
  }
  if (!cell.env.contains(devices_variable)) {
    if (cell.device != "cuda") {
      out.variables.insert_or_assign(devices_variable, std::string());  // no CUDA context for a CPU cell
    } else if (!place.devices.empty()) {
      out.variables[devices_variable] = device_mask(shell, place.devices);
    }
  }
  for (const auto& [name, value] : defaults(cell, place)) out.variables.emplace(name, value);
  for (const auto& [name, value] : contract) out.variables[name] = value;
  return out;
}

std::string find_worker(const std::string& name, const Variables& variables) {
  const auto path = variables.find("PATH");
  return find_program(name, path == variables.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second);
}

}  // namespace stepgauge::launch
