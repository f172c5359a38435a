#include <fmt/format.h>

#include "config/detail/tree_builder.hpp"
#include "config/document.hpp"
#include "config/reader.hpp"

namespace stepgauge::config::detail {

bool TreeBuilder::wants_key() const {
  return !open_.empty() && open_.back().node->kind == Node::Kind::map && !open_.back().key;
}

void TreeBuilder::count(std::size_t nodes, const Mark& mark) {
  visits_ += nodes;
  if (visits_ > max_document_nodes) {
    fail(mark, fmt::format("more than {} values, aliases counted each time they are used", max_document_nodes));
  }
}

void TreeBuilder::take_key(Node::Kind kind, std::string text, const Mark& mark) {
  auto& level = open_.back();
  if (kind == Node::Kind::null) fail(mark, "a key is missing before the \":\"");
  if (kind == Node::Kind::plain && text == "<<")
    fail(mark, "merge keys (<<) are not supported; use \"extends\" or \"defaults\"");
  if (!level.seen.insert(text).second) {
    const auto* first = level.node->find(text);
    fail(mark, fmt::format("key \"{}\" stands twice; first at line {}", text, first ? first->mark.line : mark.line));
  }
  level.key = Entry{std::move(text), mark, nullptr};
}

void TreeBuilder::add(const NodePtr& node) {
  last_ = node;
  if (open_.empty()) {
    root_ = node;
    return;
  }
  auto& level = open_.back();
  level.node->visits += node->visits;
  if (level.node->kind == Node::Kind::list) {
    level.node->items.push_back(node);
    return;
  }
  level.key->value = node;
  level.node->entries.push_back(std::move(*level.key));
  level.key.reset();
}

void TreeBuilder::scalar(Node::Kind kind, std::string text, const Mark& mark) {
  count(1, mark);
  last_mark_ = mark;
  if (wants_key()) {
    take_key(kind, std::move(text), mark);
    return;
  }
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->mark = mark;
  // An empty value has the position of the token after it; its key says more.
  if (kind == Node::Kind::null && !open_.empty() && open_.back().key && open_.back().key->mark.line != mark.line)
    node->mark = open_.back().key->mark;
  node->text = std::move(text);
  add(node);
}

void TreeBuilder::open(Node::Kind kind, const Mark& mark) {
  count(1, mark);
  if (wants_key()) fail(mark, "a key must be plain text, found a list or map");
  if (open_.size() >= max_document_depth) fail(mark, fmt::format("nested deeper than {} levels", max_document_depth));
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->mark = mark;
  open_.push_back({std::move(node), std::nullopt, {}});
}

NodePtr TreeBuilder::close() {
  const NodePtr node = std::move(open_.back().node);
  open_.pop_back();
  add(node);
  return node;
}

void TreeBuilder::share(const NodePtr& node, const Mark& mark) {
  if (wants_key()) fail(mark, "a key must be plain text, found an alias");
  count(node->visits, mark);
  add(node);
}

}  // namespace stepgauge::config::detail
