#include "verdict/differences.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace stepgauge::verdict {
namespace {

constexpr const char* none = "(none)";

std::string leaf_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : dump_line(value);
}

std::map<std::string, std::string> leaves(const Json& value) {
  std::map<std::string, std::string> out;
  if (value.is_null() || value.empty()) return out;
  const auto flat = value.flatten();
  for (const auto& [pointer, leaf] : flat.items()) {
    auto field = pointer.substr(std::min<std::size_t>(1, pointer.size()));
    std::replace(field.begin(), field.end(), '/', '.');
    out[field] = leaf_text(leaf);
  }
  return out;
}

template <typename Values, typename Text>
void add_differences(const Values& base, const Values& head, Text text, std::vector<FieldDifference>& out) {
  std::set<std::string> fields;
  for (const auto& entry : base) fields.insert(entry.first);
  for (const auto& entry : head) fields.insert(entry.first);
  for (const auto& field : fields) {
    const auto in_base = base.find(field);
    const auto in_head = head.find(field);
    if (in_base != base.end() && in_head != head.end() && in_base->second == in_head->second) continue;
    out.push_back({field, in_base == base.end() ? none : text(in_base->second),
                   in_head == head.end() ? none : text(in_head->second), 0});
  }
}

using ValueSets = std::map<std::string, std::set<std::string>>;

/// Variables that the launcher points into the folder of each launch: another value every time, which says nothing.
bool of_the_launch(const std::string& variable) {
  static const std::set<std::string> names{"CUDA_CACHE_PATH", "NCCL_DEBUG_FILE", "TORCHINDUCTOR_CACHE_DIR",
                                           "TRITON_CACHE_DIR"};
  return names.count(variable) != 0;
}

/// Adds the leaves of `part` of every rank; equal objects in a row are read once.
void add_leaves(const CellResults& cell, const char* part, ValueSets& out) {
  const Json* last = nullptr;
  for (const auto& launch : cell.launches) {
    const auto ranks = launch.detail.find("ranks");
    if (ranks == launch.detail.end() || !ranks->is_array()) continue;
    for (const auto& rank : *ranks) {
      const auto found = rank.is_object() ? rank.find(part) : rank.end();
      if (!rank.is_object() || found == rank.end()) continue;
      if (last != nullptr && *last == *found) continue;
      last = &*found;
      for (const auto& [field, text] : leaves(*found)) {
        if (!of_the_launch(field)) out[field].insert(text);
      }
    }
  }
}

ValueSets software_of(const CellResults& cell) {
  ValueSets out;
  add_leaves(cell, "software", out);
  add_leaves(cell, "environment", out);
  return out;
}

std::string joined(const std::set<std::string>& values) {
  std::string out;
  for (const auto& value : values) out += (out.empty() ? "" : " | ") + value;
  return out;
}

/// By what two images of one name are told apart.
Json image_identities(const Json& environment) {
  Json out = Json::object();
  const auto images = environment.is_object() ? environment.find("containers") : environment.end();
  if (!environment.is_object() || images == environment.end() || !images->is_object()) return out;
  for (const auto& [worker, image] : images->items()) {
    for (const char* key : {"image", "id", "digest"}) {
      if (image.is_object() && image.contains(key)) out[worker][key] = image.at(key);
    }
  }
  return out;
}

/// Driver, kernel and the like of the machine; what varies by the hour (clocks, load, addresses) is left out.
Json stable_software(const Json& environment) {
  const bool nested = environment.is_object() && environment.contains("machine");
  const auto& machine = nested ? environment.at("machine") : environment;
  Json out = Json::object();
  for (const char* key : {"driver_version", "cuda_driver_version", "kernel", "os"}) {
    if (machine.is_object() && machine.contains(key)) out[key] = machine.at(key);
  }
  if (auto images = image_identities(environment); !images.empty()) out["containers"] = std::move(images);
  return out;
}

}  // namespace

std::vector<FieldDifference> differences(const Json& base, const Json& head) {
  std::vector<FieldDifference> out;
  add_differences(
      leaves(base), leaves(head), [](const std::string& text) { return text; }, out);
  return out;
}

std::vector<FieldDifference> software_differences(
    const ResultSet& base, const ResultSet& head,
    const std::vector<std::pair<const CellResults*, const CellResults*>>& matched) {
  auto out = differences(stable_software(base.environment), stable_software(head.environment));
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> cells;
  for (const auto& [in_base, in_head] : matched) {
    std::vector<FieldDifference> here;
    add_differences(software_of(*in_base), software_of(*in_head), joined, here);
    for (const auto& item : here) ++cells[{item.field, item.base, item.head}];
  }
  for (const auto& [item, count] : cells) {
    out.push_back({std::get<0>(item), std::get<1>(item), std::get<2>(item), count});
  }
  return out;
}

}  // namespace stepgauge::verdict
