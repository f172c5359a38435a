#include "launch/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
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

/// Paths of a suite are as the shell of `run` sees them; a worker may change its directory.
std::string absolute(const std::string& path) {
  std::error_code error;
  const auto out = std::filesystem::absolute(path, error);
  return error ? path : out.lexically_normal().string();
}

const char* nccl_name(const std::string& value) {
  static const std::map<std::string, const char*> names{
      {"ring", "Ring"}, {"tree", "Tree"}, {"ll", "LL"}, {"ll128", "LL128"}, {"simple", "Simple"}};
  return names.at(value);
}

/// More ranks than devices on this host: local rank r uses device r % devices.
bool shares_devices(const CellDdp& ddp, const RankPlace& place) {
  return ddp.backend == "nccl" && !place.devices.empty() &&
         static_cast<std::size_t>(place.local_world_size) > place.devices.size();
}

int local_device(const CellDdp& ddp, const RankPlace& place) {
  return shares_devices(ddp, place) ? place.local_rank % static_cast<int>(place.devices.size()) : place.local_rank;
}

/// What the cell's ways to communicate mean to NCCL and gloo. Algorithm and protocol are those of all-reduces alone:
/// set for all collectives, Tree ends the launch at the first broadcast, for which NCCL has none.
void imply_communication(const CellDdp& ddp, const RankPlace& place, Variables& out) {
  const auto& transport = ddp.transport;
  const bool network = transport == "socket" || transport == "ib";
  if (transport == "p2p_off" || network) out.emplace("NCCL_P2P_DISABLE", "1");
  if (network) out.emplace("NCCL_SHM_DISABLE", "1");
  if (network) out.emplace("NCCL_NET", transport == "ib" ? "IB" : "Socket");
  if (transport == "nvlink") out.emplace("NCCL_P2P_LEVEL", "NVL");
  if (!ddp.algorithm.empty()) out.emplace("NCCL_ALGO", fmt::format("AllReduce:{}", nccl_name(ddp.algorithm)));
  if (!ddp.protocol.empty()) out.emplace("NCCL_PROTO", fmt::format("AllReduce:{}", nccl_name(ddp.protocol)));
  for (const auto* name : {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"}) {
    if (ddp.channels > 0) out.emplace(name, std::to_string(ddp.channels));
  }
  if (!ddp.topology_file.empty()) out.emplace("NCCL_TOPO_FILE", absolute(ddp.topology_file));
  if (!ddp.interface.empty() && ddp.backend == "nccl")
    out.emplace("NCCL_SOCKET_IFNAME", "=" + ddp.interface);  // "=": this name, not all that begin so
  if (!ddp.interface.empty() && ddp.backend == "gloo") out.emplace("GLOO_SOCKET_IFNAME", ddp.interface);
  if (!ddp.interface.empty() && ddp.backend == "mpi") out.emplace("OMPI_MCA_btl_tcp_if_include", ddp.interface);
  // NCCL refuses two ranks on one device unless it takes them for ranks of different hosts.
  if (shares_devices(ddp, place))
    out.emplace("NCCL_HOSTID", fmt::format("stepgauge-{}-{}", place.rank - place.local_rank,
                                           place.local_rank / static_cast<int>(place.devices.size())));
}

/// What the settings of the cell mean in variables; its `env` may replace them.
Variables implied(const Cell& cell, const RankPlace& place) {
  Variables out;
  if (cell.ddp.ranks > 1) imply_communication(cell.ddp, place, out);
  if (!place.cache_path.empty()) {  // not the user's own caches: they would make a cold start warm, and the other way
    out.emplace("TORCHINDUCTOR_CACHE_DIR", place.cache_path + "/inductor");
    out.emplace("TRITON_CACHE_DIR", place.cache_path + "/triton");
    out.emplace("CUDA_CACHE_PATH", place.cache_path + "/cuda");
  }
  return out;
}

/// TUNING tells algorithm, protocol and channels, a line a collective on rank 0: only where somebody asks for them.
std::string nccl_subsystems(const Cell& cell) {
  const auto& ddp = cell.ddp;
  const bool choices =
      !ddp.algorithm.empty() || !ddp.protocol.empty() || ddp.channels > 0 || cell.measure.allreduce_sweep;
  return std::string("INIT,ENV,P2P,SHM,NET,GRAPH") + (choices ? ",TUNING" : "");
}

/// What holds unless the shell says otherwise.
Variables defaults(const Cell& cell, const RankPlace& place) {
  Variables out{{"PYTHONUNBUFFERED", "1"}};
  if (cell.device == "cuda") {
    out.emplace("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    if (cell.ddp.ranks > 1 && !place.nccl_log_path.empty()) {
      out.emplace("NCCL_DEBUG", "INFO");  // the only way in which NCCL tells what it really uses
      out.emplace("NCCL_DEBUG_SUBSYS", nccl_subsystems(cell));
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
                {"STEPGAUGE_LAUNCH", std::to_string(place.launch)},
                {"STEPGAUGE_LAUNCH_ID", place.launch_id},
                {"STEPGAUGE_SPAWN_NS", std::to_string(place.spawn_ns)},
                {"RANK", rank},
                {"LOCAL_RANK", std::to_string(local_device(cell.ddp, place))},
                {"WORLD_SIZE", ranks},
                {"LOCAL_WORLD_SIZE", std::to_string(place.local_world_size)}};
  if (cell.ddp.ranks > 1) {
    out.emplace("MASTER_ADDR", place.master_address);
    out["MASTER_PORT"] = std::to_string(place.master_port);
  }
  if (place.progress_fd >= 0) out["STEPGAUGE_PROGRESS_FD"] = std::to_string(place.progress_fd);
  if (!place.progress_fifo.empty()) out["STEPGAUGE_PROGRESS_FIFO"] = place.progress_fifo;
  if (!place.trace_path.empty()) out["STEPGAUGE_TRACE"] = place.trace_path;
  if (!place.cache_path.empty()) out["STEPGAUGE_CACHE_DIR"] = place.cache_path;
  if (!place.replay_path.empty()) out["STEPGAUGE_REPLAY"] = place.replay_path;
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
