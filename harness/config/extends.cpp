#include "config/extends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "config/config_error.hpp"
#include "config/document.hpp"
#include "config/reader.hpp"

namespace stepgauge::config {
namespace {

namespace fs = std::filesystem;

constexpr int suite_version = 1;

void check_version(const Node& root) {
  if (root.kind != Node::Kind::map)
    fail(root.mark, fmt::format("expected a map that starts with \"stepgauge: 1\", found {}", describe(root)));
  const auto* entry = root.find("stepgauge");
  if (entry == nullptr)
    fail(root.mark, fmt::format("\"stepgauge\" is missing; expected \"stepgauge: {}\", the version of the suite format",
                                suite_version));
  const auto version = read_integer(*entry->value, "stepgauge", 1, 1'000'000);
  if (version > suite_version) {
    fail(entry->value->mark, fmt::format("stepgauge: suite version {} is newer than this program, which reads up to {}",
                                         version, suite_version));
  }
}

bool merges_by_key(const std::string& key) {
  static constexpr std::array names{"workers", "defaults", "axes", "measure", "limits", "requires", "tolerance"};
  return std::find(names.begin(), names.end(), key) != names.end();
}

Entry& slot(Node& node, const Entry& entry) {
  for (auto& known : node.entries) {
    if (known.key == entry.key) return known;
  }
  node.entries.push_back(entry);
  return node.entries.back();
}

NodePtr merged(const NodePtr& base, const NodePtr& over) {
  if (base->kind != Node::Kind::map || over->kind != Node::Kind::map) return over;
  auto out = std::make_shared<Node>(*base);
  out->mark = over->mark;
  for (const auto& entry : over->entries) slot(*out, entry) = entry;
  return out;
}

NodePtr merged_suite(const NodePtr& base, const NodePtr& over) {
  auto out = std::make_shared<Node>(*base);
  out->mark = over->mark;
  std::erase_if(out->entries, [](const Entry& entry) { return entry.key == "name" || entry.key == "extends"; });
  for (const auto& entry : over->entries) {
    if (entry.key == "extends") continue;
    auto& target = slot(*out, entry);
    const auto value = merges_by_key(entry.key) ? merged(target.value, entry.value) : entry.value;
    target = {entry.key, entry.mark, value};
  }
  return out;
}

/// The same file by another path is still the same file.
fs::path identity_of(const fs::path& path) {
  std::error_code error;
  const auto canonical = fs::weakly_canonical(path, error);
  return error ? path.lexically_normal() : canonical;
}

NodePtr resolve(const NodePtr& root, const fs::path& path, std::vector<fs::path>& chain) {
  check_version(*root);
  const auto* entry = root->find("extends");
  if (entry == nullptr) return root;
  const auto name = read_text(*entry->value, "extends", "the path of a suite, relative to this file");
  if (name.empty()) fail(entry->value->mark, "extends: expected the path of a suite, found an empty string");
  const auto base_path = (path.parent_path() / name).lexically_normal();
  const auto id = identity_of(base_path);
  if (std::find(chain.begin(), chain.end(), id) != chain.end())
    fail(entry->value->mark, fmt::format("extends: {} extends itself through a circle of files", base_path.string()));
  if (chain.size() > max_extends_depth)
    fail(entry->value->mark, fmt::format("extends: a chain of more than {} files", max_extends_depth));
  chain.push_back(id);
  NodePtr base;
  try {
    base = load_document(base_path);
  } catch (const ConfigError& error) {
    if (error.line > 0) throw;
    fail(entry->value->mark, fmt::format("extends: {}", error.what()));
  }
  return merged_suite(resolve(base, base_path, chain), root);
}

}  // namespace

NodePtr with_bases(const NodePtr& root, const fs::path& path) {
  std::vector<fs::path> chain{identity_of(path)};
  return resolve(root, path, chain);
}

}  // namespace stepgauge::config
