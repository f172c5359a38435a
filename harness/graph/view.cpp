#include "graph/view.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "contract/suggest.hpp"

namespace stepgauge::graph {
namespace {

std::vector<TargetCount> targets_of(const Snapshot& snapshot) {
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  for (const auto& region : snapshot.regions) {
    for (const auto& node : region.nodes) {
      if (is_call(node)) ++counts[{region.kind, node.target}];
    }
  }
  std::vector<TargetCount> out;
  for (const auto& [key, count] : counts) out.push_back({key.first, key.second, count});
  std::stable_sort(out.begin(), out.end(),
                   [](const TargetCount& a, const TargetCount& b) { return a.count > b.count; });
  return out;
}

std::vector<Node> nodes_of(const Snapshot& snapshot, const std::string& wanted) {
  std::vector<Node> out;
  std::vector<std::string> known;
  bool found = false;
  for (const auto& region : snapshot.regions) {
    known.push_back(region.kind + ":" + region.name);
    if (wanted != region.name && wanted != known.back()) continue;
    found = true;
    out.insert(out.end(), region.nodes.begin(), region.nodes.end());
  }
  if (found) return out;
  constexpr std::size_t most = 12;
  const auto shown = std::vector<std::string>(
      known.begin(), known.begin() + static_cast<std::ptrdiff_t>(std::min(most, known.size())));
  throw ContractError(fmt::format(
      "{}: no region \"{}\"{}; there are {}{}", snapshot.source, wanted, suggestion(wanted, known),
      shown.empty() ? "none" : fmt::format("{}", fmt::join(shown, ", ")), known.size() > most ? ", ..." : ""));
}

Json node_json(const Node& node) {
  return {{"name", node.name},
          {"op", node.op},
          {"target", node.target},
          {"place", to_json(node.place)},
          {"shape", node.shape ? Json(*node.shape) : Json(nullptr)},
          {"dtype", node.dtype.empty() ? Json(nullptr) : Json(node.dtype)},
          {"inputs", node.inputs}};
}

}  // namespace

View view(const Snapshot& snapshot, const ViewOptions& options) {
  View out{snapshot.source, snapshot.cell_id, snapshot.mode, {}, targets_of(snapshot), 0, {}};
  for (const auto& region : snapshot.regions) {
    const auto calls = std::count_if(region.nodes.begin(), region.nodes.end(), is_call);
    out.regions.push_back(
        {region.name, region.kind, region.place, region.ended, region.nodes.size(), static_cast<std::size_t>(calls)});
  }
  out.other_targets = out.targets.size() - std::min(options.top, out.targets.size());
  out.targets.resize(std::min(options.top, out.targets.size()));
  if (!options.region.empty()) out.nodes = nodes_of(snapshot, options.region);
  return out;
}

Json to_json(const Place& place) {
  return {{"file", place.file.empty() ? Json(nullptr) : Json(place.file)},
          {"line", place.line > 0 ? Json(place.line) : Json(nullptr)},
          {"function", place.function.empty() ? Json(nullptr) : Json(place.function)}};
}

Json to_json(const View& view) {
  auto regions = Json::array(), targets = Json::array(), nodes = Json::array();
  for (const auto& region : view.regions)
    regions.push_back({{"name", region.name},
                       {"kind", region.kind},
                       {"place", to_json(region.place)},
                       {"ended", region.ended},
                       {"nodes", region.nodes},
                       {"calls", region.calls}});
  for (const auto& one : view.targets)
    targets.push_back({{"kind", one.kind}, {"target", one.target}, {"count", one.count}});
  for (const auto& node : view.nodes) nodes.push_back(node_json(node));
  return {{"source", view.source}, {"cell_id", view.cell_id}, {"mode", view.mode},
          {"regions", regions},    {"targets", targets},      {"other_targets", view.other_targets},
          {"nodes", nodes}};
}

}  // namespace stepgauge::graph
