#include "machine/machine.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "contract/optional_json.hpp"
#include "machine/host.hpp"
#include "machine/network_interfaces.hpp"
#include "machine/nvml.hpp"

namespace stepgauge::machine {
namespace {

std::optional<std::string> shell_mask() {
  const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::vector<int> visible_to_cuda(const Nvml& nvml) {
  std::vector<std::string> uuids;
  for (int i = 0; i < nvml.device_count(); ++i) uuids.push_back(nvml.uuid(i));
  return visible_devices(shell_mask(), uuids);
}

std::optional<int> device_of_entry(std::string_view entry, const std::vector<std::string>& uuids) {
  const auto first = entry.find_first_not_of(' ');
  if (first == std::string_view::npos) return std::nullopt;
  entry = entry.substr(first, entry.find_last_not_of(' ') - first + 1);
  int index = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  if (error == std::errc{} && end == entry.data() + entry.size()) {
    if (index < 0 || index >= static_cast<int>(uuids.size())) return std::nullopt;
    return index;
  }
  if (!entry.starts_with("GPU-")) return std::nullopt;
  const auto found =
      std::find_if(uuids.begin(), uuids.end(), [&](const std::string& uuid) { return uuid.starts_with(entry); });
  if (found == uuids.end()) return std::nullopt;
  return static_cast<int>(found - uuids.begin());
}

Json gpu_json(const Gpu& gpu) {
  Json processes = Json::array();
  for (const auto& process : gpu.processes) {
    processes.push_back({{"pid", process.pid}, {"used_mib", json_of(process.used_mib)}});
  }
  return {{"index", gpu.index},
          {"nvml_index", gpu.nvml_index},
          {"name", gpu.name},
          {"uuid", gpu.uuid},
          {"pci_bus_id", gpu.pci_bus_id},
          {"memory_mib", gpu.memory_mib},
          {"memory_used_mib", gpu.memory_used_mib},
          {"compute_capability", json_of(gpu.compute_capability)},
          {"clocks_mhz",
           {{"sm", json_of(gpu.sm_mhz)},
            {"sm_max", json_of(gpu.sm_max_mhz)},
            {"memory", json_of(gpu.memory_mhz)},
            {"memory_max", json_of(gpu.memory_max_mhz)}}},
          {"power_limit_w", json_of(gpu.power_limit_w)},
          {"temperature_c", json_of(gpu.temperature_c)},
          {"numa_node", json_of(gpu.numa_node)},
          {"pcie", {{"generation", json_of(gpu.pcie_generation)}, {"width", json_of(gpu.pcie_width)}}},
          {"throttle", gpu.throttle},
          {"processes", std::move(processes)}};
}

}  // namespace

std::vector<int> visible_devices(const std::optional<std::string>& cuda_visible_devices,
                                 const std::vector<std::string>& uuids) {
  std::vector<int> out;
  if (!cuda_visible_devices) {
    for (int i = 0; i < static_cast<int>(uuids.size()); ++i) out.push_back(i);
    return out;
  }
  std::string_view rest(*cuda_visible_devices);
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const auto device = device_of_entry(rest.substr(0, comma), uuids);
    if (!device || std::find(out.begin(), out.end(), *device) != out.end()) break;
    out.push_back(*device);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return out;
}

/// What the kernel lists in a folder of /sys/class.
static std::vector<std::string> devices_under(const char* folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) out.push_back(entry.path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

static std::vector<std::string> interface_names() {
  std::vector<std::string> out;
  for (const auto& item : network_interfaces()) out.push_back(item.name);
  std::sort(out.begin(), out.end());
  return out;
}

Machine inspect() {
  Machine machine;
  inspect_host(machine);
  machine.infiniband = devices_under("/sys/class/infiniband");
  machine.interfaces = interface_names();
  const auto* nvml = Nvml::instance();
  if (nvml == nullptr) {
    machine.gpus_absent = Nvml::absent();
    return machine;
  }
  machine.driver_version = nvml->driver_version();
  machine.cuda_driver_version = nvml->cuda_driver_version();
  const auto visible = visible_to_cuda(*nvml);
  machine.hidden_gpus = nvml->device_count() - static_cast<int>(visible.size());
  for (std::size_t i = 0; i < visible.size(); ++i) {
    machine.gpus.push_back(nvml->describe(visible[i]));
    machine.gpus.back().index = static_cast<int>(i);
    for (std::size_t j = 0; j < i; ++j) {
      auto link = nvml->link(visible[j], visible[i]);
      link.a = static_cast<int>(j);
      link.b = static_cast<int>(i);
      machine.links.push_back(std::move(link));
    }
  }
  if (machine.gpus.empty()) {
    machine.gpus_absent =
        machine.hidden_gpus > 0 ? "CUDA_VISIBLE_DEVICES hides every GPU" : "the NVIDIA driver shows no GPU";
  }
  return machine;
}

std::optional<int> nvml_index(int index) {
  const auto* nvml = Nvml::instance();
  if (nvml == nullptr) return std::nullopt;
  const auto visible = visible_to_cuda(*nvml);
  if (index < 0 || index >= static_cast<int>(visible.size())) return std::nullopt;
  return visible[static_cast<std::size_t>(index)];
}

std::optional<double> gpu_memory_used_mib(int index) {
  const auto found = nvml_index(index);
  return found ? Nvml::instance()->memory_used_mib(*found) : std::nullopt;
}

Json to_json(const Machine& machine) {
  Json gpus = Json::array();
  for (const auto& gpu : machine.gpus) gpus.push_back(gpu_json(gpu));
  Json links = Json::array();
  for (const auto& link : machine.links) {
    links.push_back({{"a", link.a}, {"b", link.b}, {"kind", link.kind}, {"nvlinks", link.nvlinks}});
  }
  Json shm = nullptr;
  if (machine.shm) shm = {{"total_bytes", machine.shm->total_bytes}, {"free_bytes", machine.shm->free_bytes}};
  return {{"os", machine.os},
          {"kernel", machine.kernel},
          {"cpu",
           {{"model", machine.cpu.model},
            {"cores", machine.cpu.cores},
            {"usable_cores", machine.cpu.usable_cores},
            {"sockets", machine.cpu.sockets},
            {"numa_nodes", machine.cpu.numa_nodes}}},
          {"memory_gib", machine.memory_gib},
          {"shm", std::move(shm)},
          {"container", machine.container},
          {"gpus", std::move(gpus)},
          {"gpus_absent", machine.gpus_absent},
          {"hidden_gpus", machine.hidden_gpus},
          {"driver_version", machine.driver_version},
          {"cuda_driver_version", machine.cuda_driver_version},
          {"links", std::move(links)},
          {"infiniband", machine.infiniband},
          {"interfaces", machine.interfaces}};
}

}  // namespace stepgauge::machine
