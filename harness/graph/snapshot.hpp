#pragma once
// The graphs that a compile mode made of one rank's program: rank<r>.graphs.json of a launch with measure.graphs.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepgauge::graph {

/// Where in the model's source something comes from; empty and 0 where it is not known.
struct Place {
  std::string file;
  std::int64_t line = 0;
  std::string function;
};

struct Node {
  std::string name;
  std::string op;      ///< "call_function", "placeholder", "output", ...
  std::string target;  ///< "aten.mm.default"
  Place place;
  std::optional<std::vector<std::string>> shape;  ///< of the result; a size may be a symbol; nullopt: no tensor
  std::string dtype;                              ///< "float32"; empty: no tensor
  std::vector<std::string> inputs;                ///< names of nodes
};

/// One graph, and why it is no larger.
struct Region {
  std::string name;   ///< "0/0"
  std::string kind;   ///< "dynamo", "aot_forward", "aot_backward", "torchscript", "export"
  Place place;        ///< of the frame that was captured
  std::string ended;  ///< "whole frame", "graph break: <reason>"
  std::vector<Node> nodes;
};

struct Snapshot {
  std::string source;  ///< file
  std::string cell_id, mode;
  std::vector<Region> regions;
};

struct SnapshotLimits {
  std::size_t bytes = 64u << 20;
  std::size_t nodes = 1'000'000;
};

inline constexpr int snapshot_version = 1;

/// Reads a snapshot file, or that of a rank in a launch folder (without `rank` the lowest that there is).
/// ContractError, which names file, region and node, for what is missing, damaged, too large, newer, or something else.
Snapshot read_snapshot(const std::string& path, std::optional<int> rank = std::nullopt,
                       const SnapshotLimits& limits = {});

/// The function of the source: behind a graph break Dynamo goes on in "torch_dynamo_resume_in_forward_at_12", which is
/// still forward.
std::string own_function(const Place& place);

/// "llama/twin.py:12 (forward)", with the last two parts of the file's path; "" where nothing is known.
std::string place_text(const Place& place);

/// "[32, 64]"; "" of no tensor.
std::string shape_text(const Node& node);

/// What is computed, not what passes in and out.
bool is_call(const Node& node);

}  // namespace stepgauge::graph
