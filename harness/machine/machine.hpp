#pragma once
// What this machine is: host, GPUs and the links between them, as far as the kernel and NVML say. Nothing here needs
// CUDA; without an NVIDIA driver the GPU list is empty and says why.
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "contract/json_io.hpp"
#include "machine/variables.hpp"

namespace stepgauge::machine {

struct Cpu {
  std::string model;
  int usable_cores = 1;  ///< affinity mask and cgroup quota
  int sockets = 1;
  int numa_nodes = 1;
  int cores = 1;  ///< the machine's within the cgroup quota, whichever of them this process is bound to
};

struct SharedMemory {
  std::uint64_t total_bytes = 0, free_bytes = 0;  ///< of /dev/shm
};

struct GpuProcess {
  pid_t pid = 0;
  std::optional<double> used_mib;  ///< absent where the driver does not tell (other PID namespace)
};

/// One GPU that CUDA shows to this shell; `index` is CUDA's with CUDA_DEVICE_ORDER=PCI_BUS_ID, which the launcher sets.
struct Gpu {
  int index = 0;
  int nvml_index = 0;
  std::string name, uuid, pci_bus_id;
  double memory_mib = 0;
  double memory_used_mib = 0;
  std::optional<double> compute_capability;  ///< e.g. 9.0
  std::optional<unsigned> sm_mhz, sm_max_mhz, memory_mhz, memory_max_mhz;
  std::optional<double> power_limit_w;
  std::optional<unsigned> temperature_c;
  std::optional<int> numa_node;
  /// Lanes and generation that this device in this slot can reach; an idle device may run slower.
  std::optional<unsigned> pcie_generation, pcie_width;
  std::vector<std::string> throttle;  ///< reasons active now, without "idle"
  std::vector<GpuProcess> processes;
};

/// The link of a pair of GPUs: "nvlink", else where their PCIe paths meet: "pcie.internal", "pcie.single_switch",
/// "pcie.multi_switch", "pcie.host_bridge", "pcie.node", "pcie.system"; "unknown" when the driver does not tell.
struct GpuLink {
  int a = 0, b = 0;  ///< Gpu::index, a < b
  std::string kind;
  int nvlinks = 0;  ///< active NVLinks between the two, directly or through NVSwitch
};

struct Machine {
  std::string os, kernel;
  Cpu cpu;
  double memory_gib = 0;  ///< of the host, or the container's limit when that is lower
  std::optional<SharedMemory> shm;
  std::vector<std::string> container;  ///< what hints at a container; empty on a plain host
  std::vector<Gpu> gpus;
  std::string gpus_absent;  ///< why `gpus` is empty
  int hidden_gpus = 0;      ///< kept out by the shell's CUDA_VISIBLE_DEVICES
  std::string driver_version, cuda_driver_version;
  std::vector<GpuLink> links;
  std::vector<std::string> infiniband;  ///< devices under /sys/class/infiniband
  std::vector<std::string> interfaces;  ///< names of network_interfaces(), sorted; "lo" is one
};

/// Looks at this machine now. Starts NVML (tens of ms where there is a GPU); never throws for what is missing.
Machine inspect();
Json to_json(const Machine& machine);

/// Cores that this process may use: affinity mask, and the cgroup's CPU quota rounded up. At least 1.
int usable_cores();

/// NVML's number of GPU `index` (as in Gpu::index); nullopt without NVML or such a GPU.
std::optional<int> nvml_index(int index);

/// Memory in use on GPU `index` (as in Gpu::index) in MiB, by everybody; nullopt without NVML or such a GPU.
std::optional<double> gpu_memory_used_mib(int index);

/// Ranks of the cell on each of its hosts.
int ranks_per_node(const Cell& cell);

/// Why the cell cannot run here, with numbers ("needs 2 GPUs, 1 here"); nullopt when it can. `devices` are the GPU
/// indices meant for it; empty means the first ones, one for each rank on a host.
std::optional<std::string> unmet_requirement(const Cell& cell, const Machine& machine,
                                             const std::vector<int>& devices = {});

/// Positions in `uuids` that CUDA_VISIBLE_DEVICES leaves visible, in CUDA's order: unset is all; the list ends at the
/// first entry that names no device, as CUDA does it. Entries are indices or (abbreviated) UUIDs.
std::vector<int> visible_devices(const std::optional<std::string>& cuda_visible_devices,
                                 const std::vector<std::string>& uuids);

}  // namespace stepgauge::machine
