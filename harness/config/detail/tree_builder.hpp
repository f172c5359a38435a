#pragma once
// Builds the tree from a parser's events; holds the limits and the rules on keys, which both formats share.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/node.hpp"

namespace stepgauge::config::detail {

class TreeBuilder {
 public:
  /// A scalar, which is the next key where a map waits for one.
  void scalar(Node::Kind kind, std::string text, const Mark& mark);
  void open(Node::Kind kind, const Mark& mark);
  NodePtr close();
  /// Another appearance of a finished node (alias).
  void share(const NodePtr& node, const Mark& mark);

  bool wants_key() const;
  NodePtr root() const { return root_; }
  /// Where the last key or scalar began.
  const Mark& last_mark() const { return last_mark_; }
  /// The scalar or collection added last.
  NodePtr last() const { return last_; }

 private:
  struct Level {
    std::shared_ptr<Node> node;
    std::optional<Entry> key;
    std::set<std::string> seen;
  };

  void add(const NodePtr& node);
  void take_key(Node::Kind kind, std::string text, const Mark& mark);
  void count(std::size_t nodes, const Mark& mark);

  std::vector<Level> open_;
  NodePtr root_, last_;
  Mark last_mark_;
  std::size_t visits_ = 0;
};

}  // namespace stepgauge::config::detail
