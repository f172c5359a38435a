#include "cli/stall_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "machine/link_rate.hpp"
#include "summary/topology_check.hpp"

namespace stepgauge::cli {
namespace {

summary::PairLink pair_link(const machine::Machine& machine, int rank_a, int rank_b, int device_a, int device_b) {
  summary::PairLink out{rank_a,
                        rank_b,
                        fmt::format("GPU {} - GPU {}", device_a, device_b),
                        "unknown",
                        "a link that the driver does not name",
                        std::nullopt};
  if (device_a == device_b) {
    out.kind = out.text = "the same device";
    return out;
  }
  const auto low = std::min(device_a, device_b), high = std::max(device_a, device_b);
  const auto found = std::find_if(machine.links.begin(), machine.links.end(),
                                  [&](const machine::GpuLink& link) { return link.a == low && link.b == high; });
  if (found == machine.links.end()) return out;
  auto rate = machine::link_rate(machine, *found);
  out.kind = found->kind;
  out.text = std::move(rate.text);
  out.gbps = rate.gbps;
  return out;
}

void add_links(const Cell& cell, const std::vector<int>& devices, summary::TopologyFacts& facts) {
  if (cell.device != "cuda") {
    facts.links_absent = "the ranks run on the CPU";
    return;
  }
  if (cell.ddp.nodes > 1) {
    facts.links_absent = "the ranks run on several hosts, of which NVML sees this one";
    return;
  }
  const auto machine = machine::inspect();
  if (machine.gpus.empty() || devices.empty()) {
    facts.links_absent = machine.gpus.empty() ? machine.gpus_absent : "no device was given to the launch";
    return;
  }
  const auto device_of = [&](int rank) { return devices[static_cast<std::size_t>(rank) % devices.size()]; };
  for (int a = 0; a < cell.ddp.ranks; ++a) {
    for (int b = a + 1; b < cell.ddp.ranks; ++b)
      facts.links.push_back(pair_link(machine, a, b, device_of(a), device_of(b)));
  }
}

}  // namespace

void check_stall(const Cell& cell, const std::vector<int>& devices, const std::vector<summary::NcclLog>& nccl_logs,
                 LaunchRecord& record) {
  if (!summary::stalls(cell, record)) return;
  summary::TopologyFacts facts;
  facts.nccl_logs = nccl_logs;
  add_links(cell, devices, facts);
  record.detail["topology_check"] = summary::check_topology(cell, record, facts);
}

}  // namespace stepgauge::cli
