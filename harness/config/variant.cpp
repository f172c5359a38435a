#include "config/variant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "config/document.hpp"
#include "config/reader.hpp"
#include "contract/suggest.hpp"

namespace stepgauge::config {
namespace {

using MutableNode = std::shared_ptr<Node>;

MutableNode new_map(const Mark& mark) {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::map;
  node->mark = mark;
  return node;
}

/// A copy of `map` in which the path is set.
MutableNode with_setting(const Node& map, std::string_view path, const NodePtr& value, const Mark& mark) {
  auto out = std::make_shared<Node>(map);
  const auto dot = path.find('.');
  const std::string key(path.substr(0, dot));
  if (key.empty()) fail(mark, "a part of the setting's name is empty; expected KEY=VALUE, e.g. ddp.ranks=2");
  const auto found =
      std::find_if(out->entries.begin(), out->entries.end(), [&](const Entry& entry) { return entry.key == key; });
  const bool leaf = dot == std::string_view::npos;
  if (found != out->entries.end() && (leaf || found->value->kind != Node::Kind::map))
    fail(mark, fmt::format("\"{}\" is set twice", key));
  const auto inner = leaf ? value
                          : with_setting(found == out->entries.end() ? *new_map(mark) : *found->value,
                                         path.substr(dot + 1), value, mark);
  if (found == out->entries.end()) {
    out->entries.push_back({key, mark, inner});
  } else {
    found->value = inner;
  }
  return out;
}

}  // namespace

NodePtr read_settings(const std::vector<std::string>& settings, const std::string& origin) {
  NodePtr out = new_map({std::make_shared<const std::string>(origin), 1, 1});
  for (const auto& text : settings) {
    const Mark mark{std::make_shared<const std::string>(fmt::format("{} {}", origin, text)), 1, 1};
    const auto equals = text.find('=');
    if (equals == std::string::npos) fail(mark, "expected KEY=VALUE, e.g. perturb.step_percent=5%");
    const auto value = parse_document(text.substr(equals + 1), *mark.file, Format::yaml);
    out = with_setting(*out, std::string_view(text).substr(0, equals), value, mark);
  }
  return out;
}

void add_variant(const Node& set, const std::vector<std::string>& workers, Matrix& matrix) {
  Override item;
  const int level = level_matrix + 1 + static_cast<int>(matrix.overrides.size());
  for (const auto& entry : set.entries) {
    const auto axis = axis_from_name(entry.key);
    if (!axis) {
      const auto& policy = policy_keys();
      if (std::find(policy.begin(), policy.end(), entry.key) != policy.end())
        fail(entry.mark,
             fmt::format("\"{}\" says how cells are measured and judged, which both arms share; change it in "
                         "the suite",
                         entry.key));
      fail(entry.mark, fmt::format("no axis \"{}\"{}", entry.key, suggestion(entry.key, axis_names())));
    }
    matrix.values.push_back(read_axis_value(*axis, *entry.value, entry.key, level, workers));
    item.set.push_back(&matrix.values.back());
  }
  if (!item.set.empty()) matrix.overrides.push_back(std::move(item));
}

}  // namespace stepgauge::config
