#pragma once
// What `stepgauge graph show` says about a snapshot.
#include <cstddef>
#include <string>
#include <vector>

#include "contract/json_io.hpp"
#include "graph/snapshot.hpp"

namespace stepgauge::graph {

struct RegionView {
  std::string name, kind;
  Place place;
  std::string ended;
  std::size_t nodes = 0, calls = 0;  ///< calls: without what passes in and out
};

struct TargetCount {
  std::string kind, target;  ///< kind of region
  std::size_t count = 0;
};

struct View {
  std::string source, cell_id, mode;
  std::vector<RegionView> regions;
  std::vector<TargetCount> targets;  ///< most often called first
  std::size_t other_targets = 0;     ///< that are not among them
  std::vector<Node> nodes;           ///< of the region that was asked for
};

struct ViewOptions {
  std::string region;    ///< name, or kind:name; its nodes too
  std::size_t top = 10;  ///< targets
};

/// ContractError, with the names that there are, for a region that the snapshot does not have.
View view(const Snapshot& snapshot, const ViewOptions& options = {});

Json to_json(const View& view);
Json to_json(const Place& place);

}  // namespace stepgauge::graph
