// Strict JSON through nlohmann's SAX parser; positions come from the iterator that feeds it.
#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "config/detail/parsers.hpp"
#include "config/detail/tree_builder.hpp"
#include "config/reader.hpp"
#include "contract/json_io.hpp"

namespace stepgauge::config::detail {
namespace {

/// Follows the bytes that the parser takes and knows where the token that it reads now began.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  void advance() {
    const char c = text_[offset_];
    if (in_string_) {
      if (c == '\\' && !escaped_) {
        escaped_ = true;
      } else {
        in_string_ = c != '"' || escaped_;
        escaped_ = false;
      }
    } else if (c == '"') {
      in_string_ = true;
      begin_token();
    } else {
      const bool word = std::string_view(" \t\r\n,:]}").find(c) == std::string_view::npos;
      if (c == '{' || c == '[' || (word && !in_word_)) begin_token();
      in_word_ = word && c != '{' && c != '[';
    }
    ++offset_;
    if (c == '\n') {
      ++line_;
      column_ = 1;
    } else {
      ++column_;
    }
  }

  std::string_view text() const { return text_; }
  std::size_t offset() const { return offset_; }
  Mark token_mark(const FileName& file) const { return {file, token_line_, token_column_}; }

  /// The number that the parser has just read, as it is written.
  std::string number() const {
    const auto end = text_.find_first_not_of("0123456789+-.eE", token_);
    return std::string(text_.substr(token_, end == std::string_view::npos ? end : end - token_));
  }

 private:
  void begin_token() {
    token_ = offset_;
    token_line_ = line_;
    token_column_ = column_;
  }

  std::string_view text_;
  std::size_t offset_ = 0, token_ = 0;
  int line_ = 1, column_ = 1, token_line_ = 1, token_column_ = 1;
  bool in_string_ = false, escaped_ = false, in_word_ = false;
};

class CursorIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CursorIterator() = default;
  explicit CursorIterator(Cursor& cursor) : cursor_(&cursor) {}
  reference operator*() const { return cursor_->text()[cursor_->offset()]; }
  CursorIterator& operator++() {
    cursor_->advance();
    return *this;
  }
  bool operator==(const CursorIterator& other) const { return at_end() == other.at_end(); }
  bool operator!=(const CursorIterator& other) const { return !(*this == other); }

 private:
  bool at_end() const { return cursor_ == nullptr || cursor_->offset() >= cursor_->text().size(); }
  Cursor* cursor_ = nullptr;
};

class JsonEvents : public nlohmann::json_sax<Json> {
 public:
  JsonEvents(const Cursor& cursor, FileName file) : cursor_(cursor), file_(std::move(file)) {}

  bool null() override { return scalar(Node::Kind::null, ""); }
  bool boolean(bool value) override { return scalar(Node::Kind::plain, value ? "true" : "false"); }
  bool number_integer(number_integer_t) override { return scalar(Node::Kind::plain, cursor_.number()); }
  bool number_unsigned(number_unsigned_t) override { return scalar(Node::Kind::plain, cursor_.number()); }
  bool number_float(number_float_t, const string_t&) override { return scalar(Node::Kind::plain, cursor_.number()); }
  bool string(string_t& value) override { return scalar(Node::Kind::quoted, value); }
  bool key(string_t& value) override { return scalar(Node::Kind::quoted, value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Node::Kind::map); }
  bool start_array(std::size_t) override { return open(Node::Kind::list); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    std::string_view what = error.what();
    if (const auto place = what.find("column "); place != std::string_view::npos)
      what = what.substr(std::min(what.find(": ", place) + 2, what.size()));
    const auto head = cursor_.text().substr(0, position == 0 ? 0 : position - 1);
    const auto line_start = head.rfind('\n') + 1;
    fail({file_, static_cast<int>(std::count(head.begin(), head.end(), '\n')) + 1,
          static_cast<int>(head.size() - line_start) + 1},
         fmt::format("not valid JSON: {}", what));
  }

  NodePtr root() const { return builder_.root(); }

 private:
  bool scalar(Node::Kind kind, std::string text) {
    builder_.scalar(kind, std::move(text), cursor_.token_mark(file_));
    return true;
  }
  bool open(Node::Kind kind) {
    builder_.open(kind, cursor_.token_mark(file_));
    return true;
  }
  bool close() {
    builder_.close();
    return true;
  }

  const Cursor& cursor_;
  FileName file_;
  TreeBuilder builder_;
};

}  // namespace

NodePtr parse_json_tree(const std::string& text, const FileName& file) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return nullptr;
  Cursor cursor(text);
  JsonEvents events(cursor, file);
  Json::sax_parse(CursorIterator(cursor), CursorIterator(), &events);
  return events.root();
}

}  // namespace stepgauge::config::detail
