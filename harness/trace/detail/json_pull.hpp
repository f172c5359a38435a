#pragma once
// Pulls JSON values one by one out of text of any length, through a window of fixed size. nlohmann's SAX parser reads a
// character at a time and takes three times as long, which is what a person waits for with a million events.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "contract/json_io.hpp"
#include "trace/detail/byte_source.hpp"

namespace stepgauge::trace::detail {

class JsonPull {
 public:
  static constexpr int end_of_text = -1;

  explicit JsonPull(ByteSource& source, std::size_t window_bytes = 256u << 10);

  /// First character of the next token; end_of_text behind the last one.
  int peek() {
    while (true) {
      while (*next_ == ' ' || *next_ == '\n' || *next_ == '\r' || *next_ == '\t') ++next_;
      if (next_ != end_) return static_cast<unsigned char>(*next_);
      if (!refill()) return end_of_text;
    }
  }

  /// The next token is an object: calls on_key(key) for each of its keys; on_key takes the value. The key is gone as
  /// soon as it does.
  template <typename OnKey>
  void object(OnKey&& on_key) {
    open('{');
    if (closes('}')) return;
    while (true) {
      on_key(key());
      if (closes('}')) return;
      take(',', "',' or '}' behind a value");
    }
  }

  /// The next token is an array: calls on_item() for each item; on_item takes it.
  template <typename OnItem>
  void array(OnItem&& on_item) {
    open('[');
    if (closes(']')) return;
    while (true) {
      on_item();
      if (closes(']')) return;
      take(',', "',' or ']' behind a value");
    }
  }

  /// array() as chrome://tracing reads it: a comma may stand before the end, and with `may_be_open` the end may be
  /// missing.
  template <typename OnItem>
  void lenient_array(OnItem&& on_item, bool may_be_open) {
    open('[');
    while (!closes(']') && !(may_be_open && at_end())) {
      on_item();
      if (peek() != ']' && !(may_be_open && at_end())) take(',', "',' or ']' behind an event");
    }
  }

  /// The next token is a string: its content, valid until the next call.
  std::string_view string();
  /// The next token is a string, number or word: content or text, valid until the next call.
  std::string_view scalar();
  /// Passes over the next value.
  void skip();
  /// The next value as a whole; it may hold 100,000 values.
  Json value();

  /// Bytes of text taken so far.
  std::uint64_t offset() const { return before_ + static_cast<std::uint64_t>(next_ - window_.data()); }
  /// Throws TraceError: file, place and `what`.
  [[noreturn]] void fail(std::string_view what) const;

 private:
  bool refill();
  int peek_raw();  ///< next byte, spaces too
  bool at_end() { return peek() == end_of_text; }
  void open(char bracket);
  bool closes(char bracket) {
    if (peek() != bracket) return false;
    ++next_;
    --depth_;
    return true;
  }
  void take(char expected, std::string_view name) {
    if (peek() != expected) fail_expected(name);
    ++next_;
  }
  std::string_view key();
  std::string_view long_string();
  void escape();
  unsigned hex_digits();
  char escaped_char();
  std::string_view word();
  Json word_value(std::string_view text) const;
  [[noreturn]] void fail_expected(std::string_view name);

  ByteSource& source_;
  std::vector<char> window_;  ///< ends with a zero byte, which stops every scan
  char* next_;
  char* end_;
  std::uint64_t before_ = 0;  ///< bytes of text before the window
  int depth_ = 0;
  std::size_t values_ = 0;  ///< of value()
  std::string text_, key_;
};

}  // namespace stepgauge::trace::detail
