#include "machine/nvml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "contract/health.hpp"
#include "contract/lower_case.hpp"
#include "machine/nvml_calls.hpp"

namespace stepgauge::machine {
namespace {

using namespace nvml;

std::optional<int> numa_node_of(std::string bus_id) {
  if (bus_id.size() > 12) bus_id = bus_id.substr(bus_id.size() - 12);  // sysfs has a domain of four digits
  std::ifstream file("/sys/bus/pci/devices/" + lower_case(bus_id) + "/numa_node");
  int node = -1;
  if (!(file >> node) || node < 0) return std::nullopt;
  return node;
}

const char* common_ancestor(unsigned level) {
  switch (level) {
    case 0:
      return "pcie.internal";
    case 10:
      return "pcie.single_switch";
    case 20:
      return "pcie.multi_switch";
    case 30:
      return "pcie.host_bridge";
    case 40:
      return "pcie.node";
    case 50:
      return "pcie.system";
    default:
      return "unknown";
  }
}

}  // namespace

const Nvml::Session& Nvml::session() {
  static const Session started = [] {
    Session out;
    out.nvml = load(out.absent);
    return out;
  }();
  return started;
}

const std::string& Nvml::absent() {
  return session().absent;
}

const Nvml* Nvml::instance() {
  return session().nvml.get();
}

std::unique_ptr<Nvml> Nvml::load(std::string& why_not) {
  auto calls = std::make_unique<Calls>();
  if (!calls->library) {
    why_not = "libnvidia-ml.so.1 not found: no NVIDIA driver here";
    return nullptr;
  }
  calls->find_all();
  if (calls->init == nullptr || calls->shutdown == nullptr || calls->count == nullptr || calls->handle == nullptr) {
    why_not = "libnvidia-ml.so.1 is too old";
    return nullptr;
  }
  if (const int error = calls->init(); error != success) {
    why_not = fmt::format("NVML does not start: {}",
                          calls->error_string != nullptr ? calls->error_string(error) : std::to_string(error));
    return nullptr;
  }
  std::unique_ptr<Nvml> session(new Nvml);
  session->calls_ = std::move(calls);
  return session;
}

Nvml::Nvml() = default;

Nvml::~Nvml() {
  if (calls_ != nullptr) calls_->shutdown();
}

std::string Nvml::driver_version() const {
  return text_of(calls_->driver_version);
}

std::string Nvml::cuda_driver_version() const {
  int version = 0;
  if (!ask(calls_->cuda_version, &version)) return {};
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

int Nvml::device_count() const {
  unsigned count = 0;
  return ask(calls_->count, &count) ? static_cast<int>(count) : 0;
}

void* Nvml::device(int nvml_index) const {
  Device found = nullptr;
  return ask(calls_->handle, static_cast<unsigned>(nvml_index), &found) ? found : nullptr;
}

std::string Nvml::uuid(int nvml_index) const {
  const Device gpu = device(nvml_index);
  return gpu == nullptr ? std::string() : text_of(calls_->uuid, gpu);
}

std::optional<double> Nvml::memory_used_mib(int nvml_index) const {
  MemoryInfo memory{};
  const Device gpu = device(nvml_index);
  if (gpu == nullptr || !ask(calls_->memory, gpu, &memory)) return std::nullopt;
  return static_cast<double>(memory.used) / bytes_per_mib;
}

Gpu Nvml::describe(int nvml_index) const {
  Gpu out;
  out.index = out.nvml_index = nvml_index;
  const Device gpu = device(nvml_index);
  if (gpu == nullptr) return out;
  out.name = text_of(calls_->name, gpu);
  out.uuid = text_of(calls_->uuid, gpu);
  PciInfo pci{};
  if (ask(calls_->pci, gpu, &pci)) {
    out.pci_bus_id.assign(pci.bus_id, std::find(pci.bus_id, pci.bus_id + sizeof pci.bus_id, '\0'));
    out.numa_node = numa_node_of(out.pci_bus_id);
  }
  MemoryInfo memory{};
  if (ask(calls_->memory, gpu, &memory)) {
    out.memory_mib = static_cast<double>(memory.total) / bytes_per_mib;
    out.memory_used_mib = static_cast<double>(memory.used) / bytes_per_mib;
  }
  int major = 0;
  int minor = 0;
  if (ask(calls_->capability, gpu, &major, &minor)) out.compute_capability = major + minor / 10.0;
  out.sm_mhz = number_of(calls_->clock, gpu, clock_sm);
  out.memory_mhz = number_of(calls_->clock, gpu, clock_memory);
  out.sm_max_mhz = number_of(calls_->max_clock, gpu, clock_sm);
  out.memory_max_mhz = number_of(calls_->max_clock, gpu, clock_memory);
  out.temperature_c = number_of(calls_->temperature, gpu, temperature_gpu);
  if (const auto milliwatts = number_of(calls_->power_limit, gpu)) out.power_limit_w = *milliwatts / 1000.0;
  out.pcie_generation = number_of(calls_->pcie_generation, gpu);
  out.pcie_width = number_of(calls_->pcie_width, gpu);
  unsigned long long reasons = 0;
  if (ask(calls_->throttle, gpu, &reasons)) out.throttle = throttle_names(reasons);
  out.processes = processes(gpu).value_or(std::vector<GpuProcess>());
  return out;
}

int Nvml::nvlink_count(void* a, void* b) const {
  PciInfo peer{};
  const bool peer_known = ask(calls_->pci, b, &peer);
  int direct = 0;
  std::array<int, 2> through_switch{};
  for (unsigned link = 0; link < nvlink_max; ++link) {
    for (std::size_t side = 0; side < 2; ++side) {
      const Device gpu = side == 0 ? a : b;
      if (number_of(calls_->nvlink_state, gpu, link).value_or(0) == 0) continue;
      const auto type = number_of(calls_->nvlink_remote_type, gpu, link);
      if (type == remote_switch) ++through_switch[side];
      if (side == 1 || type != remote_gpu || !peer_known) continue;
      PciInfo remote{};
      if (ask(calls_->nvlink_remote_pci, a, link, &remote) && remote.domain == peer.domain && remote.bus == peer.bus &&
          remote.device == peer.device) {
        ++direct;
      }
    }
  }
  return direct + std::min(through_switch[0], through_switch[1]);
}

GpuLink Nvml::link(int nvml_a, int nvml_b) const {
  GpuLink out{nvml_a, nvml_b, "unknown", 0};
  const Device a = device(nvml_a);
  const Device b = device(nvml_b);
  if (a == nullptr || b == nullptr) return out;
  out.nvlinks = nvlink_count(a, b);
  unsigned status = 1;
  const bool peers_over_nvlink = ask(calls_->p2p_status, a, b, p2p_caps_nvlink, &status) && status == 0;
  if (out.nvlinks > 0 || peers_over_nvlink) {
    out.kind = "nvlink";
  } else if (const auto level = number_of(calls_->ancestor, a, b)) {
    out.kind = common_ancestor(*level);
  }
  return out;
}

}  // namespace stepgauge::machine
