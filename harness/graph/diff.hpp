#pragma once
// What `stepgauge graph diff` says about two snapshots: nodes that appeared, vanished, or moved to another region.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "contract/json_io.hpp"
#include "graph/snapshot.hpp"

namespace stepgauge::graph {

enum class Change : std::uint8_t { appeared, vanished, moved };

/// Nodes of one target, source line, shape and pair of regions.
struct NodeChange {
  Change change = Change::appeared;
  std::string target;
  Place place;  ///< in B, of vanished nodes in A
  std::string shape;
  std::string from, to;            ///< regions, "dynamo:0/0"; empty: there is none on that side
  std::vector<std::string> names;  ///< of the nodes: in B, of vanished ones in A
};

/// A region of A with its counterpart in B.
struct RegionChange {
  std::string in_a, in_b;  ///< "dynamo:0/0"; empty: on the other side alone
  Place place;
  std::size_t nodes_a = 0, nodes_b = 0;  ///< calls
  std::string ended_a, ended_b;
};

struct SnapshotDiff {
  std::string a, b;            ///< files
  std::string mode_a, mode_b;  ///< compile modes
  std::string cell_a, cell_b;
  std::vector<RegionChange> regions;
  std::vector<NodeChange> changes;  ///< moved, vanished, appeared; most nodes first
  std::size_t same = 0;             ///< nodes that are where they were
  std::size_t other_line = 0;       ///< of these, with another source line
  std::size_t appeared = 0, vanished = 0, moved = 0;
};

/// Calls are compared, not what passes in and out. Nodes match by target, source line and shape, and by number where
/// several are alike; what is left over then by target, function and shape, whatever the line. A region's counterpart
/// has its name, kind and function, else the same kind and most of its nodes. aot_forward and aot_backward are one
/// stage: what is recomputed in backward moves there or appears there.
SnapshotDiff diff(const Snapshot& a, const Snapshot& b);

Json to_json(const SnapshotDiff& diff);
std::string_view to_string(Change change);

}  // namespace stepgauge::graph
