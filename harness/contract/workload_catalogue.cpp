#include "contract/workload_catalogue.hpp"

#include "contract/json_io.hpp"
#include "embedded_workloads.hpp"

namespace stepgauge {
namespace {

SizeInfo parse_size(const Json& value, const std::string& where) {
  SizeInfo size;
  if (value.contains("default")) size.default_value = require<std::int64_t>(value, "default", where);
  if (value.contains("min")) size.min = require<std::int64_t>(value, "min", where);
  if (value.contains("max")) size.max = require<std::int64_t>(value, "max", where);
  size.choices = optional<std::vector<std::int64_t>>(value, "choices", {}, where);
  return size;
}

WorkloadFamily parse_family(std::string_view text, const std::string& path) {
  const auto value = parse_json(text, path);
  WorkloadFamily family;
  family.name = require<std::string>(value, "family", path);
  family.description = require<std::string>(value, "description", path);
  family.work_unit = require<std::string>(value, "work_unit", path);
  family.shape_axis = require<std::string>(value, "shape_axis", path);
  family.optimizer = require<std::string>(value, "optimizer", path);
  family.memory_formats = require<std::vector<std::string>>(value, "memory_formats", path);
  family.presets = require<std::map<std::string, std::map<std::string, std::int64_t>>>(value, "presets", path);
  for (const auto& [name, size] : value.at("sizes").items()) family.sizes[name] = parse_size(size, path + ": " + name);
  return family;
}

}  // namespace

const std::vector<WorkloadFamily>& workload_families() {
  static const std::vector<WorkloadFamily> families = [] {
    std::vector<WorkloadFamily> out;
    for (const auto& [path, text] : embedded_workloads::embedded_files()) out.push_back(parse_family(text, path));
    return out;
  }();
  return families;
}

const WorkloadFamily* family_of_preset(std::string_view preset) {
  for (const auto& family : workload_families()) {
    if (family.presets.count(std::string(preset)) > 0) return &family;
  }
  return nullptr;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const auto& family : workload_families()) {
    for (const auto& preset : family.presets) names.push_back(preset.first);
  }
  return names;
}

}  // namespace stepgauge
