#pragma once
// Why a launch of several ranks stalls: the path between each pair of ranks, what it should give and what it gives, and
// the hop at which it falls below that. Facts in, finding out; nobody is asked anything here (docs/topology.md).
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "contract/record.hpp"
#include "summary/nccl_log.hpp"

namespace stepgauge::summary {

/// The launch has two ranks or more, its stall_ratio is known and above the cell's stall_alarm, which is not 0; where
/// tracing slowed the steps (tracer_slows_above), timeline.stall_of_untraced is above it too.
bool stalls(const Cell& cell, const LaunchRecord& record);

/// What lies between the devices of two ranks.
struct PairLink {
  int rank_a = 0, rank_b = 0;  ///< a < b
  std::string devices;         ///< "GPU 0 - GPU 1"
  std::string kind;            ///< as machine::GpuLink: "nvlink", "pcie.system", "unknown", ...
  std::string text;            ///< "NVLink 4, 18 links"
  std::optional<double> gbps;  ///< what it should give in one direction, GB/s
};

/// What the check rests on beside the launch record: its metrics, timeline, communication and rank 0's environment.
struct TopologyFacts {
  std::vector<PairLink> links;
  std::string links_absent;        ///< why `links` is empty
  std::vector<NcclLog> nccl_logs;  ///< one a rank that left one
};

/// The launch record's `topology_check`: {stall_ratio, alarm, parts, pairs, sweep or sweep_absent, straggler, hop,
/// cause, findings}. `cause` is one word for machines: "straggler", "path", "bandwidth", "amount", "not_communication"
/// or "not_known"; `findings` are lines for people, the most telling first, never empty.
Json check_topology(const Cell& cell, const LaunchRecord& record, const TopologyFacts& facts);

}  // namespace stepgauge::summary
