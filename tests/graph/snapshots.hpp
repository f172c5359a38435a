#pragma once
// Snapshots written by hand for the tests.
#include <string>

#include "graph/snapshot.hpp"

namespace stepgauge::graph::test {

inline Node node(const std::string& name, const std::string& target, std::int64_t line,
                 const std::string& function = "forward") {
  return {name, "call_function", target, {"workloads/llama/twin.py", line, function}, {{"32", "64"}}, "float32", {}};
}

inline Region region(const std::string& name, std::vector<Node> nodes, const std::string& kind = "dynamo",
                     const std::string& ended = "whole frame") {
  return {name, kind, {"workloads/llama/twin.py", 10, "forward"}, ended, std::move(nodes)};
}

/// Four nodes in one graph.
inline Snapshot whole() {
  return {"a.graphs.json",
          "llama.tiny/compile.default-00000000",
          "compile.default",
          {region("0/0", {node("mm", "aten.mm", 11), node("add", "aten.add", 12), node("mm_1", "aten.mm", 13),
                          node("relu", "aten.relu", 14)})}};
}

/// The same, cut behind the second node.
inline Snapshot cut() {
  const std::string resumed = "torch_dynamo_resume_in_forward_at_12";
  return {"b.graphs.json",
          "llama.tiny/compile.default-00000000",
          "compile.default",
          {region("0/0", {node("mm", "aten.mm", 11), node("add", "aten.add", 12)}, "dynamo", "graph break: print"),
           region("1/0", {node("mm", "aten.mm", 13, resumed), node("relu", "aten.relu", 14, resumed)})}};
}

}  // namespace stepgauge::graph::test
