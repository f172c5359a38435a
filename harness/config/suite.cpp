#include "config/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "config/extends.hpp"
#include "config/matrix.hpp"
#include "config/policy.hpp"
#include "config/reader.hpp"
#include "config/variant.hpp"
#include "contract/container_command.hpp"

namespace stepgauge::config {
namespace {

const std::vector<std::string>& suite_keys() {
  static const std::vector<std::string> keys{
      "stepgauge",   "name",       "description", "extends",   "workers", "launches",
      "defaults",    "axes",       "zip",         "include",   "exclude", "overrides",
      "measure",     "limits",     "requires",    "tolerance", "trace",   "price_per_gpu_hour",
      "peak_tflops", "stall_alarm"};
  return keys;
}

void check_container(const std::vector<std::string>& command, Mark mark, const std::string& where) {
  try {
    container_command(command);
  } catch (const std::invalid_argument& error) {
    fail(mark, fmt::format("{}: {}", where, error.what()));
  }
}

std::map<std::string, std::vector<std::string>> read_workers(const Node& root) {
  std::map<std::string, std::vector<std::string>> workers;
  const auto* entry = root.find("workers");
  if (entry == nullptr) return workers;
  for (const auto& item : require_map(*entry->value, "workers").entries) {
    const Node name{Node::Kind::quoted, item.mark, item.key, {}, {}};
    if (read_name(name, "workers") == "stepgauge")
      fail(item.mark, "workers: \"stepgauge\" is the built-in worker; choose another name");
    const auto where = "workers." + item.key;
    auto& command = workers[item.key];
    const auto* hint = "strings, the program and its arguments (no shell splits them)";
    for (const auto& argument : require_list(*item.value, where, hint).items)
      command.push_back(read_text(*argument, where, "an argument as a string"));
    if (command.front().empty()) fail(item.value->mark, fmt::format("{}: the program's name is empty", where));
    if (is_container(command)) check_container(command, item.value->mark, where);
  }
  return workers;
}

Suite read_suite(const NodePtr& document, const std::filesystem::path& path, const NodePtr& variant) {
  const auto root = with_bases(document, path);
  require_map(*root, "", suite_keys());
  Suite suite;
  suite.path = path;
  const auto* name = root->find("name");
  if (name == nullptr) fail(root->mark, "\"name\" is missing; every suite has its own");
  suite.name = read_name(*name->value, "name");
  if (const auto* entry = root->find("description")) suite.description = read_text(*entry->value, "description");
  suite.workers = read_workers(*root);
  PolicyPatch policy;
  for (const auto& entry : root->entries) read_policy(entry.key, *entry.value, entry.key, policy);
  std::vector<std::string> worker_names;
  for (const auto& worker : suite.workers) worker_names.push_back(worker.first);
  auto matrix = read_matrix(*root, suite.name, worker_names, policy);
  if (variant != nullptr) add_variant(*variant, worker_names, matrix);
  auto expansion = expand(matrix);
  suite.cells = std::move(expansion.cells);
  suite.places = std::move(expansion.places);
  suite.excluded = std::move(expansion.excluded);
  suite.merged = expansion.merged;
  return suite;
}

}  // namespace

Suite load_suite(const std::filesystem::path& path, const NodePtr& variant) {
  return read_suite(load_document(path), path, variant);
}

Suite parse_suite(std::string_view text, const std::string& origin, Format format) {
  return read_suite(parse_document(text, origin, format), origin, nullptr);
}

}  // namespace stepgauge::config
