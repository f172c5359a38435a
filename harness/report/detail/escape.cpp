#include "report/detail/escape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <sstream>

namespace stepgauge::report::detail {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  ///< 0: not UTF-8
};

CodePoint decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  std::uint32_t value = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return {};
  return {value, length};
}

bool harmful(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x2069) || c == 0xfeff || (c & 0xfffe) == 0xfffe;
}

/// Byte offset of the column `n`.
std::size_t offset_of(std::string_view text, std::size_t n) {
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (starts && n-- == 0) break;
  }
  return i;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto point = decode(text);
    if (point.bytes == 0) {
      out += '?';
    } else if (point.value == '\n' || point.value == '\t' || point.value == '\r') {
      out += ' ';
    } else if (harmful(point.value)) {
      out += '?';
    } else {
      out += text.substr(0, point.bytes);
    }
    text.remove_prefix(std::max<std::size_t>(1, point.bytes));
  }
  return out;
}

std::string markdown(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      if (std::string_view("|`*_[]\\").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string comment(std::string_view text) {
  constexpr const char* joiner = "\u2060";  // seen by no person, and no name or number goes across it
  std::string out;
  const auto escaped = markdown(text);
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const std::string_view rest(escaped.data() + i, escaped.size() - i);
    if (rest.front() == '~' || rest.front() == '$') out += '\\';
    out += rest.front();
    const bool host = rest.front() == '.' && (out.ends_with("www.") || out.ends_with("WWW."));
    if (rest.front() == '@' || rest.front() == '#' || rest.starts_with("://") || host) out += joiner;
  }
  return out;
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string shell_words(const std::vector<std::string>& command) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+";
  std::string out;
  for (const auto& word : command) {
    std::string quoted = printable(word);
    if (quoted.empty() || quoted.find_first_not_of(plain) != std::string::npos) {
      std::string inner;
      for (const char c : quoted) inner += c == '\'' ? std::string("'\\''") : std::string(1, c);
      quoted = "'" + inner + "'";
    }
    out += (out.empty() ? "" : " ") + quoted;
  }
  return out;
}

std::string backquotes(std::string_view text, std::size_t least) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(std::max(longest + 1, least), '`');
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string shorten_middle(const std::string& text, std::size_t width, std::size_t keep) {
  const auto size = columns(text);
  if (size <= width) return text;
  if (width < keep + 3) return text.substr(offset_of(text, size - width));
  const auto room = width - 2;
  const auto tail = std::min(room - 1, std::max(keep, room / 2));
  return text.substr(0, offset_of(text, room - tail)) + ".." + text.substr(offset_of(text, size - tail));
}

std::string wrap(const std::string& text, std::size_t width, std::size_t indent) {
  std::istringstream words(text);
  const auto leading = std::min(text.find_first_not_of(' '), text.size());
  std::string out(leading, ' ');
  std::size_t used = leading;
  bool first = true;
  for (std::string word; words >> word;) {
    if (!first && used + 1 + columns(word) > width) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
      first = true;
    }
    if (!first) {
      out += ' ';
      ++used;
    }
    word = shorten_middle(word, width - std::min(indent, width / 2), 9);
    out += word;
    used += columns(word);
    first = false;
  }
  return out;
}

std::string paragraph(const std::string& text, const Style& style, std::size_t indent) {
  return wrap(text, style.width, indent) + "\n";
}

}  // namespace stepgauge::report::detail
