#include "machine/link_rate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "contract/plural.hpp"

namespace stepgauge::machine {
namespace {

struct NvlinkGeneration {
  int capability_major, generation;
  double gbps_per_link;
};

constexpr std::array<NvlinkGeneration, 6> nvlink_generations{
    {{6, 1, 20}, {7, 2, 25}, {8, 3, 25}, {9, 4, 25}, {10, 5, 50}, {12, 5, 50}}};

/// GB/s of one lane in one direction, by generation from 1.
constexpr std::array<double, 6> pcie_lane_gbps{2.5 * 8 / 10 / 8,     5.0 * 8 / 10 / 8,     8.0 * 128 / 130 / 8,
                                               16.0 * 128 / 130 / 8, 32.0 * 128 / 130 / 8, 64.0 * 236 / 256 / 8};

const Gpu* gpu_at(const Machine& machine, int index) {
  const auto found =
      std::find_if(machine.gpus.begin(), machine.gpus.end(), [&](const Gpu& gpu) { return gpu.index == index; });
  return found == machine.gpus.end() ? nullptr : &*found;
}

std::string way_of(const std::string& kind) {
  if (kind == "pcie.internal") return "on one board";
  if (kind == "pcie.single_switch") return "through one switch";
  if (kind == "pcie.multi_switch") return "through several switches";
  if (kind == "pcie.host_bridge") return "through a host bridge";
  if (kind == "pcie.node") return "through the host bridges of one NUMA node";
  if (kind == "pcie.system") return "across NUMA nodes";
  return "";
}

LinkRate nvlink_rate(const Gpu* gpu, const GpuLink& link) {
  LinkRate out{"NVLink", std::nullopt, ""};
  if (gpu != nullptr && gpu->compute_capability) {
    const auto major = static_cast<int>(*gpu->compute_capability + 1e-6);
    for (const auto& one : nvlink_generations) {
      if (one.capability_major != major || link.nvlinks == 0) continue;
      out.text = fmt::format("NVLink {}", one.generation);
      out.gbps = one.gbps_per_link * link.nvlinks;
      out.source = fmt::format("{} links of {:g} GB/s", link.nvlinks, one.gbps_per_link);
    }
  }
  if (link.nvlinks > 0) out.text += ", " + plural(link.nvlinks, "link");
  return out;
}

std::optional<double> pcie_gbps(const Gpu* gpu) {
  if (gpu == nullptr || !gpu->pcie_generation || !gpu->pcie_width || *gpu->pcie_generation == 0 ||
      *gpu->pcie_generation > pcie_lane_gbps.size())
    return std::nullopt;
  return pcie_lane_gbps[*gpu->pcie_generation - 1] * *gpu->pcie_width;
}

}  // namespace

LinkRate link_rate(const Machine& machine, const GpuLink& link) {
  const auto* a = gpu_at(machine, link.a);
  const auto* b = gpu_at(machine, link.b);
  if (link.kind == "nvlink") return nvlink_rate(a, link);
  const auto way = way_of(link.kind);
  if (way.empty()) return {"a link that the driver does not name", std::nullopt, ""};
  const auto of_a = pcie_gbps(a), of_b = pcie_gbps(b);
  if (!of_a || !of_b) return {"PCIe " + way, std::nullopt, ""};
  const auto& slower = *of_a <= *of_b ? *a : *b;
  const auto name = fmt::format("PCIe {}.0 x{}", *slower.pcie_generation, *slower.pcie_width);
  return {name + " " + way, std::min(*of_a, *of_b), name};
}

}  // namespace stepgauge::machine
