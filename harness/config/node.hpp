#pragma once
// The tree of a suite's text: untyped, every node with its position. Types are given by the fields that read it.
#include <memory>
#include <string>
#include <vector>

namespace stepgauge::config {

struct Mark {
  std::shared_ptr<const std::string> file;
  int line = 0;    ///< from 1
  int column = 0;  ///< from 1, in bytes
};

struct Node;
using NodePtr = std::shared_ptr<const Node>;

struct Entry {
  std::string key;
  Mark mark;  ///< of the key
  NodePtr value;
};

struct Node {
  enum class Kind {
    null,
    plain,   ///< YAML plain scalar, JSON number or boolean: text as written
    quoted,  ///< string in quotes, or a YAML block scalar
    list,
    map,
  };

  Kind kind = Kind::null;
  Mark mark;
  std::string text;
  std::vector<NodePtr> items;
  std::vector<Entry> entries;  ///< in file order, keys unique
  std::size_t visits = 1;      ///< nodes below and including this one, aliases expanded

  bool is_text() const { return kind == Kind::plain || kind == Kind::quoted; }
  const Entry* find(std::string_view key) const {
    for (const auto& entry : entries) {
      if (entry.key == key) return &entry;
    }
    return nullptr;
  }
};

}  // namespace stepgauge::config
