#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "contract/plural.hpp"
#include "machine/machine.hpp"

namespace stepgauge::machine {
namespace {

std::string here_text(const Machine& machine) {
  const auto here = static_cast<int>(machine.gpus.size());
  if (here > 0 || machine.gpus_absent.empty()) return fmt::format("{} here", here);
  return fmt::format("none here ({})", machine.gpus_absent);
}

std::string capability_text(const Gpu& gpu) {
  return gpu.compute_capability ? fmt::format("{:.1f}", *gpu.compute_capability) : "none";
}

std::optional<std::string> unmet_by_gpu(const CellRequires& needs, const Gpu& gpu) {
  constexpr double mib_per_gib = 1024;
  if (const double gib = gpu.memory_mib / mib_per_gib; gib < needs.gpu_memory_gib) {
    return fmt::format("needs {:g} GiB of GPU memory, GPU {} ({}) has {:.1f}", needs.gpu_memory_gib, gpu.index,
                       gpu.name, gib);
  }
  if (needs.compute_capability > 0 && gpu.compute_capability.value_or(0) < needs.compute_capability - 1e-6) {
    return fmt::format("needs compute capability {:.1f}, GPU {} ({}) has {}", needs.compute_capability, gpu.index,
                       gpu.name, capability_text(gpu));
  }
  return std::nullopt;
}

std::optional<std::string> unmet_by_precision(const Cell& cell, const Gpu& gpu) {
  constexpr double fp8_capability = 8.9;  // the first with fp8 matrix products
  if (!is_fp8(cell.precision) || gpu.compute_capability.value_or(0) >= fp8_capability - 1e-6) return std::nullopt;
  return fmt::format("needs compute capability {:.1f} for fp8, GPU {} ({}) has {}", fp8_capability, gpu.index, gpu.name,
                     capability_text(gpu));
}

/// `wanted` between every two of the devices; `why` asks for it.
std::optional<std::string> unmet_by_links(const std::string& wanted, const char* why, const Machine& machine,
                                          const std::vector<int>& devices) {
  if (wanted.empty()) return std::nullopt;
  for (const int a : devices) {
    for (const int b : devices) {
      if (a >= b) continue;
      const auto link = std::find_if(machine.links.begin(), machine.links.end(),
                                     [&](const GpuLink& item) { return item.a == a && item.b == b; });
      const std::string kind = link == machine.links.end() ? "unknown" : link->kind;
      if (kind != wanted) return fmt::format("needs {} between GPUs {} and {}{}, found {}", wanted, a, b, why, kind);
    }
  }
  return std::nullopt;
}

/// What the cell asks of the network and of files; holds for ranks on the CPU too. Of several hosts each has its own.
std::optional<std::string> unmet_by_network(const CellDdp& ddp, const Machine& machine) {
  if (ddp.ranks < 2 || ddp.nodes > 1) return std::nullopt;
  const auto& here = machine.interfaces;
  if (!ddp.interface.empty() && std::find(here.begin(), here.end(), ddp.interface) == here.end())
    return fmt::format("needs network interface {}; here: {}", ddp.interface,
                       here.empty() ? "none" : fmt::format("{}", fmt::join(here, ", ")));
  if (ddp.topology_file.empty()) return std::nullopt;
  std::error_code error;
  if (!std::filesystem::is_regular_file(ddp.topology_file, error))
    return fmt::format("needs the topology file {}, there is no such file", ddp.topology_file);
  if (::access(ddp.topology_file.c_str(), R_OK) != 0)
    return fmt::format("needs the topology file {}, it cannot be read", ddp.topology_file);
  return std::nullopt;
}

/// Ranks that share devices are ranks of different hosts to NCCL, which knows nothing but the network between those.
std::optional<std::string> unmet_by_sharing(const CellDdp& ddp, int ranks, std::size_t devices) {
  if (static_cast<std::size_t>(ranks) <= devices) return std::nullopt;
  if (ddp.transport == "auto" || ddp.transport == "socket") return std::nullopt;
  return fmt::format("{} ranks on {} reach each other through sockets alone, not by ddp.transport {}", ranks,
                     plural(devices, "GPU"), ddp.transport);
}

}  // namespace

int ranks_per_node(const Cell& cell) {
  return (cell.ddp.ranks + cell.ddp.nodes - 1) / cell.ddp.nodes;
}

std::optional<std::string> unmet_requirement(const Cell& cell, const Machine& machine,
                                             const std::vector<int>& devices) {
  const auto here = static_cast<int>(machine.gpus.size());
  const bool on_gpu = cell.device == "cuda";
  if (!on_gpu && cell.ddp.backend == "nccl" && cell.ddp.ranks > 1) {
    return fmt::format("backend nccl needs a GPU for each rank, the cell's device is {}", cell.device);
  }
  const bool shared = cell.ddp.oversubscribe && cell.ddp.ranks > 1;
  const int each = ranks_per_node(cell);
  const int wanted = std::max(cell.needs.gpus, !on_gpu ? 0 : shared ? 1 : each);
  if (here < wanted) return fmt::format("needs {}, {}", plural(wanted, "GPU"), here_text(machine));
  if (machine.memory_gib < cell.needs.memory_gib) {
    return fmt::format("needs {:g} GiB of memory, {:.1f} here", cell.needs.memory_gib, machine.memory_gib);
  }
  if (auto reason = unmet_by_network(cell.ddp, machine)) return reason;
  if (!on_gpu) return std::nullopt;

  auto used = devices;
  if (used.empty()) {
    used.resize(static_cast<std::size_t>(shared ? std::min(each, here) : each));
    std::iota(used.begin(), used.end(), 0);
  }
  if (static_cast<int>(used.size()) < each && !shared) {
    return fmt::format("needs {}, {} given to it", plural(each, "GPU"), used.size());
  }
  for (const int device : used) {
    if (device < 0 || device >= here) return fmt::format("needs GPU {}, {}", device, here_text(machine));
    const auto& gpu = machine.gpus[static_cast<std::size_t>(device)];
    if (auto reason = unmet_by_gpu(cell.needs, gpu)) return reason;
    if (auto reason = unmet_by_precision(cell, gpu)) return reason;
  }
  if (cell.ddp.transport == "ib" && machine.infiniband.empty())
    return "needs InfiniBand (ddp.transport ib), no device of it here";
  if (auto reason = unmet_by_sharing(cell.ddp, each, used.size())) return reason;
  if (cell.ddp.transport == "nvlink") {
    if (auto reason = unmet_by_links("nvlink", " (ddp.transport nvlink)", machine, used)) return reason;
  }
  return unmet_by_links(cell.needs.link, "", machine, used);
}

}  // namespace stepgauge::machine
