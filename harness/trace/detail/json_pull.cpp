#include "trace/detail/json_pull.hpp"

#include <fmt/format.h>

#include <array>

#include "trace/reader.hpp"

namespace stepgauge::trace::detail {
namespace {

constexpr int deepest = 256;
constexpr std::size_t longest_text = 16u << 20;
constexpr std::size_t most_values = 100'000;
constexpr unsigned no_character = 0xfffd;  ///< stands for half of a surrogate pair

/// Bytes that stand for themselves in a string; zero, which ends the window, is none.
constexpr std::array<bool, 256> plain_bytes() {
  std::array<bool, 256> out{};
  for (std::size_t c = 0x20; c < 256; ++c) out[c] = c != '"' && c != '\\';
  return out;
}
constexpr auto plain = plain_bytes();

constexpr std::array<bool, 256> word_bytes() {
  std::array<bool, 256> out{};
  for (std::size_t c = 0; c < 256; ++c) {
    out[c] = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' ||
             c == '.' || c == '_';
  }
  return out;
}
constexpr auto wordy = word_bytes();

bool is(const std::array<bool, 256>& set, char c) {
  return set[static_cast<unsigned char>(c)];
}

void append_utf8(std::string& out, unsigned point) {
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xc0 | (point >> 6));
    out += static_cast<char>(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    out += static_cast<char>(0xe0 | (point >> 12));
    out += static_cast<char>(0x80 | ((point >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (point & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (point >> 18));
    out += static_cast<char>(0x80 | ((point >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((point >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (point & 0x3f));
  }
}

std::string shown(int c) {
  if (c == JsonPull::end_of_text) return "the end of the text";
  return c > 0x20 && c < 0x7f ? fmt::format("'{}'", static_cast<char>(c)) : fmt::format("byte 0x{:02x}", c);
}

/// Python's and C's spellings of what is not finite, which some writers leave in their files.
bool not_finite(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return text == "NaN" || text == "nan" || text == "Infinity" || text == "inf";
}

bool begins_number(std::string_view text) {
  if (text.front() == '-') text.remove_prefix(1);
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

}  // namespace

JsonPull::JsonPull(ByteSource& source, std::size_t window_bytes)
    : source_(source), window_(window_bytes + 1), next_(window_.data()), end_(window_.data()) {}

bool JsonPull::refill() {
  before_ += static_cast<std::uint64_t>(end_ - window_.data());
  next_ = end_ = window_.data();
  end_ += source_.read(window_.data(), window_.size() - 1);
  *end_ = '\0';
  return end_ != next_;
}

void JsonPull::fail(std::string_view what) const {
  throw TraceError(fmt::format("{}: at byte {}{}: {}", source_.path(), offset(),
                               source_.gzip() ? " of the inflated text" : "", what));
}

void JsonPull::fail_expected(std::string_view name) {
  const int found = peek();
  if (found == end_of_text) fail(fmt::format("the text is cut off: expected {}", name));
  fail(fmt::format("not JSON: expected {}, found {}", name, shown(found)));
}

void JsonPull::open(char bracket) {
  if (peek() != bracket) fail_expected(bracket == '{' ? "an object" : "an array");
  if (++depth_ > deepest) fail(fmt::format("nested deeper than {} levels", deepest));
  ++next_;
}

std::string_view JsonPull::key() {
  if (peek() != '"') fail_expected("a key in quotes");
  auto text = string();
  if (*next_ != ':') {  // looking for it may replace the window that the text stands in
    key_.assign(text);
    text = key_;
    peek();
  }
  take(':', "':' behind a key");
  return text;
}

std::string_view JsonPull::string() {
  take('"', "a string");
  char* last = next_;
  while (is(plain, *last)) ++last;
  if (*last != '"') return long_string();
  const std::string_view text(next_, static_cast<std::size_t>(last - next_));
  next_ = last + 1;
  return text;
}

/// A string with escapes, or one that does not end in this window.
std::string_view JsonPull::long_string() {
  text_.clear();
  while (true) {
    char* last = next_;
    while (is(plain, *last)) ++last;
    text_.append(next_, last);
    next_ = last;
    if (text_.size() > longest_text) fail(fmt::format("a string of more than {} bytes", longest_text));
    if (next_ == end_) {
      if (!refill()) fail("the text is cut off inside a string");
    } else if (*next_ == '"') {
      ++next_;
      return text_;
    } else if (*next_ == '\\') {
      ++next_;
      escape();
    } else {
      fail(fmt::format("not JSON: {} inside a string", shown(static_cast<unsigned char>(*next_))));
    }
  }
}

char JsonPull::escaped_char() {
  if (next_ == end_ && !refill()) fail("the text is cut off inside a string");
  return *next_++;
}

unsigned JsonPull::hex_digits() {
  unsigned value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = escaped_char();
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                           : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                                  : 16;
    if (digit == 16) fail("not JSON: expected four hexadecimal digits behind \\u");
    value = value * 16 + digit;
  }
  return value;
}

void JsonPull::escape() {
  constexpr std::string_view letters = "\"\\/bfnrt", meaning = "\"\\/\b\f\n\r\t";
  const char c = escaped_char();
  if (const auto i = letters.find(c); i != std::string_view::npos) {
    text_ += meaning[i];
    return;
  }
  if (c != 'u') fail(fmt::format("not JSON: unknown escape \\{}", shown(static_cast<unsigned char>(c))));
  unsigned point = hex_digits();
  if (point >= 0xd800 && point < 0xdc00 && peek_raw() == '\\') {  // the first half of a pair
    ++next_;
    if (peek_raw() != 'u') {
      append_utf8(text_, no_character);
      escape();
      return;
    }
    ++next_;
    const unsigned second = hex_digits();
    const bool pair = second >= 0xdc00 && second < 0xe000;
    if (!pair) append_utf8(text_, no_character);
    point = pair ? 0x10000 + ((point - 0xd800) << 10) + (second - 0xdc00) : second;
  }
  append_utf8(text_, point >= 0xd800 && point < 0xe000 ? no_character : point);
}

int JsonPull::peek_raw() {
  return next_ == end_ && !refill() ? end_of_text : static_cast<unsigned char>(*next_);
}

std::string_view JsonPull::word() {
  if (peek() == end_of_text || !is(wordy, *next_)) fail_expected("a value");
  char* last = next_;
  while (is(wordy, *last)) ++last;
  std::string_view text(next_, static_cast<std::size_t>(last - next_));
  next_ = last;
  if (last != end_) return text;
  text_.assign(text);
  while (refill() && is(wordy, *next_)) {
    last = next_;
    while (is(wordy, *last)) ++last;
    text_.append(next_, last);
    next_ = last;
    if (text_.size() > longest_text) fail(fmt::format("a word of more than {} bytes", longest_text));
    if (next_ != end_) break;
  }
  return text_;
}

std::string_view JsonPull::scalar() {
  return peek() == '"' ? string() : word();
}

Json JsonPull::word_value(std::string_view text) const {
  if (text == "true" || text == "false") return text == "true";
  if (text == "null" || not_finite(text)) return nullptr;
  auto out = Json::parse(text, nullptr, false);
  if (out.is_discarded()) fail(fmt::format("not JSON: expected a value, found \"{}\"", text.substr(0, 40)));
  return out;
}

void JsonPull::skip() {
  switch (peek()) {
    case '{':
      object([this](std::string_view) { skip(); });
      return;
    case '[':
      array([this] { skip(); });
      return;
    case '"':
      string();
      return;
    default: {
      const auto text = word();
      if (begins_number(text) || text == "true" || text == "false" || text == "null" || not_finite(text)) return;
      fail(fmt::format("not JSON: expected a value, found \"{}\"", text.substr(0, 40)));
    }
  }
}

Json JsonPull::value() {
  if (++values_ > most_values) fail("a field of the head is too large");
  switch (peek()) {
    case '{': {
      Json out = Json::object();
      object([&](std::string_view name) {
        auto& place = out[std::string(name)];
        place = value();
      });
      return out;
    }
    case '[': {
      Json out = Json::array();
      array([&] { out.push_back(value()); });
      return out;
    }
    case '"':
      return std::string(string());
    default:
      return word_value(word());
  }
}

}  // namespace stepgauge::trace::detail
