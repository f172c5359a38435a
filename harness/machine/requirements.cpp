#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "machine/machine.hpp"

namespace stepgauge::machine {
namespace {

std::string gpus_text(int count) {
  return fmt::format("{} GPU{}", count, count == 1 ? "" : "s");
}

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

std::optional<std::string> unmet_by_links(const CellRequires& needs, const Machine& machine,
                                          const std::vector<int>& devices) {
  if (needs.link.empty()) return std::nullopt;
  for (const int a : devices) {
    for (const int b : devices) {
      if (a >= b) continue;
      const auto link = std::find_if(machine.links.begin(), machine.links.end(),
                                     [&](const GpuLink& item) { return item.a == a && item.b == b; });
      const std::string kind = link == machine.links.end() ? "unknown" : link->kind;
      if (kind != needs.link) {
        return fmt::format("needs {} between GPUs {} and {}, found {}", needs.link, a, b, kind);
      }
    }
  }
  return std::nullopt;
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
  const int each = cell.ddp.oversubscribe ? 1 : ranks_per_node(cell);
  const int wanted = std::max(cell.needs.gpus, on_gpu ? each : 0);
  if (here < wanted) return fmt::format("needs {}, {}", gpus_text(wanted), here_text(machine));
  if (machine.memory_gib < cell.needs.memory_gib) {
    return fmt::format("needs {:g} GiB of memory, {:.1f} here", cell.needs.memory_gib, machine.memory_gib);
  }
  if (!on_gpu) return std::nullopt;

  auto used = devices;
  if (used.empty()) {
    used.resize(static_cast<std::size_t>(each));
    std::iota(used.begin(), used.end(), 0);
  }
  if (static_cast<int>(used.size()) < each) {
    return fmt::format("needs {}, {} given to it", gpus_text(each), used.size());
  }
  for (const int device : used) {
    if (device < 0 || device >= here) return fmt::format("needs GPU {}, {}", device, here_text(machine));
    const auto& gpu = machine.gpus[static_cast<std::size_t>(device)];
    if (auto reason = unmet_by_gpu(cell.needs, gpu)) return reason;
    if (auto reason = unmet_by_precision(cell, gpu)) return reason;
  }
  if (cell.ddp.transport == "ib" && machine.infiniband.empty())
    return "needs InfiniBand (ddp.transport ib), no device of it here";
  return unmet_by_links(cell.needs, machine, used);
}

}  // namespace stepgauge::machine
