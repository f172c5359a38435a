#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <sstream>
#include <vector>

#include "config/detail/parsers.hpp"
#include "config/detail/tree_builder.hpp"
#include "config/reader.hpp"

namespace stepgauge::config::detail {
namespace {

class YamlEvents : public YAML::EventHandler {
 public:
  explicit YamlEvents(FileName file) : file_(std::move(file)) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) fail(at(mark), "a second document or value at top level; expected one map in the file");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_.scalar(Node::Kind::null, "", at(mark));
    remember(anchor, builder_.last());
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_tag(mark, tag);
    const bool is_key = builder_.wants_key();
    builder_.scalar(tag == "!" ? Node::Kind::quoted : Node::Kind::plain, value, at(mark));
    if (!is_key) remember(anchor, builder_.last());
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) fail(at(mark), "an alias of the value that it stands in, or of a key");
    builder_.share(it->second, at(mark));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

  NodePtr root() const { return builder_.root(); }
  Mark last_mark() const {
    const auto& mark = builder_.last_mark();
    return mark.line > 0 ? mark : Mark{file_, 1, 1};
  }
  Mark at(const YAML::Mark& mark) const { return {file_, mark.line + 1, mark.column + 1}; }

 private:
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!")
      fail(at(mark), fmt::format("tags are not supported, found \"{}\"; each field knows its type", tag));
  }
  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    refuse_tag(mark, tag);
    builder_.open(kind, at(mark));
    open_anchors_.push_back(anchor);
  }
  void close() {
    const auto node = builder_.close();
    remember(open_anchors_.back(), node);
    open_anchors_.pop_back();
  }
  void remember(YAML::anchor_t anchor, const NodePtr& node) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
  }

  FileName file_;
  TreeBuilder builder_;
  int documents_ = 0;
  std::map<YAML::anchor_t, NodePtr> anchors_;
  std::vector<YAML::anchor_t> open_anchors_;
};

/// yaml-cpp's words for a tab are about what follows it; say what is wrong, where.
void refuse_tab_indentation(const std::string& text, const FileName& file) {
  int line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto first = text.find_first_not_of(" \t\r", begin);
    if (first < end && text[first] != '#') {
      const auto tab = text.find('\t', begin);
      if (tab < first)
        fail({file, line, static_cast<int>(tab - begin) + 1}, "a tab in the indentation; indent with spaces");
    }
    begin = end + 1;
  }
}

}  // namespace

NodePtr parse_yaml_tree(const std::string& text, const FileName& file) {
  refuse_tab_indentation(text, file);
  YamlEvents events(file);
  try {
    // The end marker makes yaml-cpp see a quote that is never closed, which it otherwise closes by itself.
    std::istringstream stream(text + "\n...\n");
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const YAML::Exception& error) {
    if (error.msg == YAML::ErrorMsg::DOC_IN_SCALAR)
      fail(events.last_mark(), "not valid YAML: a quoted string that begins here or next is not closed");
    fail(events.at(error.mark), "not valid YAML: " + error.msg);
  }
  return events.root();
}

}  // namespace stepgauge::config::detail
