#pragma once
// NVML's entry points, types and values as the sources of this room use them; nothing else includes this.
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>

#include "machine/nvml.hpp"

namespace stepgauge::machine {
namespace nvml {

// Types and values of nvml.h, as far as they are used (stable ABI, versioned symbols).
using Device = void*;
using EventSet = void*;
inline constexpr int success = 0;
inline constexpr unsigned clock_sm = 1;
inline constexpr unsigned clock_memory = 2;
inline constexpr unsigned temperature_gpu = 0;
inline constexpr unsigned nvlink_max = 18;
inline constexpr unsigned remote_gpu = 0;
inline constexpr unsigned remote_switch = 2;
inline constexpr unsigned p2p_caps_nvlink = 2;
inline constexpr unsigned ecc_uncorrected = 1;
inline constexpr unsigned ecc_volatile = 0;
inline constexpr unsigned long long xid_event = 0x8;
inline constexpr unsigned long long not_available = ~0ull;
inline constexpr double bytes_per_mib = 1024.0 * 1024.0;

struct MemoryInfo {
  unsigned long long total, free, used;
};

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

struct EventData {
  Device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

class Library {
 public:
  explicit Library(const std::string& name) : handle_(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  explicit operator bool() const { return handle_ != nullptr; }

  /// `function` stays nullptr where the library has no such symbol.
  template <typename Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

 private:
  void* handle_;
};

template <typename... Parameters, typename... Arguments>
bool ask(int (*call)(Parameters...), Arguments... arguments) {
  return call != nullptr && call(arguments...) == success;
}

template <typename... Parameters, typename... Arguments>
std::string text_of(int (*call)(Parameters...), Arguments... first) {
  std::array<char, 96> buffer{};
  if (!ask(call, first..., buffer.data(), static_cast<unsigned>(buffer.size()))) return {};
  buffer.back() = '\0';
  return buffer.data();
}

template <typename... Parameters, typename... Arguments>
std::optional<unsigned> number_of(int (*call)(Parameters...), Arguments... arguments) {
  unsigned value = 0;
  if (!ask(call, arguments..., &value)) return std::nullopt;
  return value;
}

}  // namespace nvml

/// Entry points; one that this driver lacks is nullptr, and its value is absent.
struct Nvml::Calls {
  nvml::Library library{library_name()};

  /// libnvidia-ml.so.1, or what STEPGAUGE_NVML_LIBRARY names: the tests' own.
  static std::string library_name() {
    const char* name = std::getenv("STEPGAUGE_NVML_LIBRARY");
    return name == nullptr || *name == '\0' ? "libnvidia-ml.so.1" : name;
  }

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*cuda_version)(int*) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, nvml::Device*) = nullptr;
  int (*name)(nvml::Device, char*, unsigned) = nullptr;
  int (*uuid)(nvml::Device, char*, unsigned) = nullptr;
  int (*memory)(nvml::Device, nvml::MemoryInfo*) = nullptr;
  int (*pci)(nvml::Device, nvml::PciInfo*) = nullptr;
  int (*capability)(nvml::Device, int*, int*) = nullptr;
  int (*clock)(nvml::Device, unsigned, unsigned*) = nullptr;
  int (*max_clock)(nvml::Device, unsigned, unsigned*) = nullptr;
  int (*power_limit)(nvml::Device, unsigned*) = nullptr;
  int (*temperature)(nvml::Device, unsigned, unsigned*) = nullptr;
  int (*throttle)(nvml::Device, unsigned long long*) = nullptr;
  int (*processes)(nvml::Device, unsigned*, nvml::ProcessInfo*) = nullptr;
  int (*power)(nvml::Device, unsigned*) = nullptr;
  int (*ecc_errors)(nvml::Device, unsigned, unsigned, unsigned long long*) = nullptr;
  int (*events_supported)(nvml::Device, unsigned long long*) = nullptr;
  int (*event_set_create)(nvml::EventSet*) = nullptr;
  int (*event_set_free)(nvml::EventSet) = nullptr;
  int (*event_register)(nvml::Device, unsigned long long, nvml::EventSet) = nullptr;
  int (*event_wait)(nvml::EventSet, nvml::EventData*, unsigned) = nullptr;
  int (*ancestor)(nvml::Device, nvml::Device, unsigned*) = nullptr;
  int (*p2p_status)(nvml::Device, nvml::Device, unsigned, unsigned*) = nullptr;
  int (*nvlink_state)(nvml::Device, unsigned, unsigned*) = nullptr;
  int (*nvlink_remote_type)(nvml::Device, unsigned, unsigned*) = nullptr;
  int (*nvlink_remote_pci)(nvml::Device, unsigned, nvml::PciInfo*) = nullptr;
  int (*pcie_generation)(nvml::Device, unsigned*) = nullptr;
  int (*pcie_width)(nvml::Device, unsigned*) = nullptr;

  void find_all() {
    library.find(init, "nvmlInit_v2");
    library.find(shutdown, "nvmlShutdown");
    library.find(error_string, "nvmlErrorString");
    library.find(driver_version, "nvmlSystemGetDriverVersion");
    library.find(cuda_version, "nvmlSystemGetCudaDriverVersion_v2");
    library.find(count, "nvmlDeviceGetCount_v2");
    library.find(handle, "nvmlDeviceGetHandleByIndex_v2");
    library.find(name, "nvmlDeviceGetName");
    library.find(uuid, "nvmlDeviceGetUUID");
    library.find(memory, "nvmlDeviceGetMemoryInfo");
    library.find(pci, "nvmlDeviceGetPciInfo_v3");
    library.find(capability, "nvmlDeviceGetCudaComputeCapability");
    library.find(clock, "nvmlDeviceGetClockInfo");
    library.find(max_clock, "nvmlDeviceGetMaxClockInfo");
    library.find(power_limit, "nvmlDeviceGetEnforcedPowerLimit");
    library.find(temperature, "nvmlDeviceGetTemperature");
    library.find(throttle, "nvmlDeviceGetCurrentClocksEventReasons");
    if (throttle == nullptr) library.find(throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");  // before R535
    library.find(processes, "nvmlDeviceGetComputeRunningProcesses_v3");
    library.find(power, "nvmlDeviceGetPowerUsage");
    library.find(ecc_errors, "nvmlDeviceGetTotalEccErrors");
    library.find(events_supported, "nvmlDeviceGetSupportedEventTypes");
    library.find(event_set_create, "nvmlEventSetCreate");
    library.find(event_set_free, "nvmlEventSetFree");
    library.find(event_register, "nvmlDeviceRegisterEvents");
    library.find(event_wait, "nvmlEventSetWait_v2");
    library.find(ancestor, "nvmlDeviceGetTopologyCommonAncestor");
    library.find(p2p_status, "nvmlDeviceGetP2PStatus");
    library.find(nvlink_state, "nvmlDeviceGetNvLinkState");
    library.find(nvlink_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType");
    library.find(nvlink_remote_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    library.find(pcie_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
    library.find(pcie_width, "nvmlDeviceGetMaxPcieLinkWidth");
  }
};

}  // namespace stepgauge::machine
