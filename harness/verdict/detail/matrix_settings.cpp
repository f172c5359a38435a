#include "verdict/detail/matrix_settings.hpp"

namespace stepgauge::verdict::detail {
namespace {

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void add_workload(const Json& workload, Settings& out) {
  out["workload"] = text_of(workload.at("name"));
  for (const auto& [size, value] : workload.at("sizes").items()) out["workload." + size] = text_of(value);
}

}  // namespace

Settings settings_of(const Cell& cell) {
  Settings out;
  const auto identity = identity_json(cell);
  for (const auto& [key, value] : identity.items()) {
    if (key == "perturb") continue;
    if (key == "workload") {
      add_workload(value, out);
    } else if (value.is_object()) {
      for (const auto& [inner, item] : value.items()) {
        if (key != "ddp" || inner != "backend") out[key + "." + inner] = text_of(item);
      }
    } else {
      out[key] = text_of(value);
    }
  }
  return out;
}

std::set<std::string> differing(const Settings& a, const Settings& b) {
  std::set<std::string> out;
  for (const auto& [key, value] : a) {
    const auto other = b.find(key);
    if (other == b.end() || other->second != value) out.insert(key);
  }
  for (const auto& [key, value] : b) {
    if (a.find(key) == a.end()) out.insert(key);
  }
  return out;
}

std::vector<Settings> settings_over(const std::vector<const Cell*>& cells) {
  std::vector<Settings> out;
  std::map<std::string, std::map<std::string, std::set<std::string>>> sizes;  // workload -> size -> values
  for (const auto* cell : cells) {
    const auto& settings = out.emplace_back(settings_of(*cell));
    for (const auto& [size, value] : cell->workload.sizes)
      sizes[cell->workload.name]["workload." + size].insert(settings.at("workload." + size));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (const auto& [size, values] : sizes[cells[i]->workload.name]) {
      if (values.size() == 1) out[i].erase(size);
    }
  }
  for (const char* axis : {"cache", "ddp.wrapper"}) {
    std::set<std::string> values;
    for (const auto& settings : out) {
      const auto found = settings.find(axis);
      if (found != settings.end() && !found->second.empty()) values.insert(found->second);
    }
    if (values.size() > 1) continue;
    for (auto& settings : out) settings.erase(axis);
  }
  return out;
}

}  // namespace stepgauge::verdict::detail
