#include "graph/snapshot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>

#include "contract/json_io.hpp"

namespace stepgauge::graph {
namespace {

constexpr std::string_view suffix = ".graphs.json";
constexpr std::string_view prefix = "rank";

/// N of "rank<N>.graphs.json".
std::optional<int> rank_of(const std::string& name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  const auto digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  if (digits.empty() || digits.size() > 6 || digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoi(digits);
}

std::string file_in(const std::string& folder, const std::optional<int>& rank) {
  std::map<int, std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (const auto one = rank_of(entry.path().filename().string())) found[*one] = entry.path().string();
  }
  if (found.empty())
    throw ContractError(folder +
                        ": no graph snapshot here (rank<N>.graphs.json); a suite asks for them with \"measure: "
                        "{graphs: true}\", and eager has none");
  if (!rank) return found.begin()->second;
  if (const auto one = found.find(*rank); one != found.end()) return one->second;
  std::vector<int> ranks;
  for (const auto& [one, path] : found) ranks.push_back(one);
  throw ContractError(
      fmt::format("{}: no graph snapshot of rank {}; there are those of {}", folder, *rank, fmt::join(ranks, ", ")));
}

Place place_from_json(const Json& value, const std::string& where) {
  return {optional<std::string>(value, "file", "", where), optional<std::int64_t>(value, "line", 0, where),
          optional<std::string>(value, "function", "", where)};
}

std::optional<std::vector<std::string>> shape_from_json(const Json& value, const std::string& where) {
  const auto shape = optional<Json>(value, "shape", nullptr, where);
  if (shape.is_null()) return std::nullopt;
  std::vector<std::string> out;
  for (const auto& size : shape) {
    if (!size.is_number_integer() && !size.is_string())
      throw ContractError(where + ": \"shape\" holds " + size.type_name() + ", expected whole numbers or symbols");
    out.push_back(size.is_string() ? size.get<std::string>() : size.dump());
  }
  return out;
}

Node node_from_json(const Json& value, const std::string& where) {
  Node out;
  out.name = require<std::string>(value, "name", where);
  out.op = require<std::string>(value, "op", where);
  out.target = require<std::string>(value, "target", where);
  out.place = place_from_json(value, where);
  out.shape = shape_from_json(value, where);
  out.dtype = optional<std::string>(value, "dtype", "", where);
  out.inputs = optional<std::vector<std::string>>(value, "inputs", {}, where);
  return out;
}

/// The list itself, not a copy of it.
const Json& list_at(const Json& value, const char* key, const std::string& where) {
  const auto found = value.is_object() ? value.find(key) : value.end();
  if (!value.is_object() || found == value.end()) throw ContractError(fmt::format("{}: \"{}\" is missing", where, key));
  if (!found->is_array())
    throw ContractError(fmt::format("{}: \"{}\" is {}, expected a list", where, key, found->type_name()));
  return *found;
}

Region region_from_json(const Json& value, const std::string& where, std::size_t& nodes_left) {
  Region out;
  out.name = require<std::string>(value, "name", where);
  out.kind = require<std::string>(value, "kind", where);
  out.ended = optional<std::string>(value, "ended", "", where);
  out.place = place_from_json(value, where);
  const auto& nodes = list_at(value, "nodes", where);
  if (nodes.size() > nodes_left) throw ContractError(where + ": too many nodes");
  nodes_left -= nodes.size();
  out.nodes.reserve(nodes.size());
  for (const auto& node : nodes)
    out.nodes.push_back(node_from_json(node, fmt::format("{}.nodes[{}]", where, out.nodes.size())));
  return out;
}

std::string last_parts(const std::string& file) {
  const auto name = file.rfind('/');
  if (name == std::string::npos || name == 0) return file;
  const auto folder = file.rfind('/', name - 1);
  return folder == std::string::npos ? file : file.substr(folder + 1);
}

}  // namespace

Snapshot read_snapshot(const std::string& path, std::optional<int> rank, const SnapshotLimits& limits) {
  std::error_code error;
  const auto file = std::filesystem::is_directory(path, error) ? file_in(path, rank) : path;
  const auto value = parse_json(read_text_file(file, limits.bytes), file);
  if (!value.is_object() || optional<Json>(value, "schema", nullptr, file) != "stepgauge.graphs")
    throw ContractError(file + ": not a graph snapshot (\"schema\" is not \"stepgauge.graphs\")");
  if (const auto version = require<int>(value, "version", file); version > snapshot_version) {
    throw ContractError(
        fmt::format("{}: snapshot version {}, this program reads up to {}", file, version, snapshot_version));
  }
  Snapshot out{
      file, optional<std::string>(value, "cell_id", "", file), optional<std::string>(value, "mode", "", file), {}};
  auto nodes_left = limits.nodes;
  for (const auto& region : list_at(value, "regions", file))
    out.regions.push_back(
        region_from_json(region, fmt::format("{}: regions[{}]", file, out.regions.size()), nodes_left));
  return out;
}

std::string own_function(const Place& place) {
  constexpr std::string_view resumed = "torch_dynamo_resume_in_";
  const auto at = place.function.rfind("_at_");
  if (!place.function.starts_with(resumed) || at == std::string::npos || at < resumed.size()) return place.function;
  return place.function.substr(resumed.size(), at - resumed.size());
}

std::string place_text(const Place& place) {
  auto out = last_parts(place.file);
  if (!out.empty() && place.line > 0) out += fmt::format(":{}", place.line);
  const auto function = own_function(place);
  if (function.empty()) return out;
  return out.empty() ? function : fmt::format("{} ({})", out, function);
}

std::string shape_text(const Node& node) {
  return node.shape ? fmt::format("[{}]", fmt::join(*node.shape, ", ")) : "";
}

bool is_call(const Node& node) {
  return node.op != "placeholder" && node.op != "output" && node.op != "get_attr" && node.op != "root";
}

}  // namespace stepgauge::graph
