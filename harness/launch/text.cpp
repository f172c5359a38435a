#include "launch/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace stepgauge::launch {
namespace {

/// Bytes of the valid, printable UTF-8 character that `text` starts with; 0 when there is none.
std::size_t printable_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 && first <= 0xf4   ? 4
                             : first >= 0xe0 && first <= 0xef ? 3
                             : first >= 0xc2 && first <= 0xdf ? 2
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate_or_beyond = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  const bool control = first == 0xc2 && second < 0xa0;
  return overlong || surrogate_or_beyond || control ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  const bool cut = text.size() > max_bytes;
  while (!text.empty() && max_bytes > 0) {
    const auto length = printable_length(text);
    if (length > max_bytes) break;
    if (length > 0) {
      out += text.substr(0, length);
    } else if (text[0] == '\t') {
      out += "\\t";
    } else if (text[0] == '\r') {
      out += "\\r";
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    }
    const auto used = std::max<std::size_t>(length, 1);
    text.remove_prefix(used);
    max_bytes -= used;
  }
  return cut ? out + "..." : out;
}

std::vector<std::string> last_lines(std::string_view text, std::size_t count) {
  std::vector<std::string> lines;
  const auto end = text.find_last_not_of("\r\n");
  text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  while (!text.empty() && lines.size() < count) {
    const auto newline = text.rfind('\n');
    auto line = newline == std::string_view::npos ? text : text.substr(newline + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(printable(line));
    if (newline == std::string_view::npos) break;
    text = text.substr(0, newline);
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

std::string signal_text(int signal) {
  const char* name = ::sigabbrev_np(signal);
  const char* meaning = ::sigdescr_np(signal);
  if (name == nullptr || meaning == nullptr) return fmt::format("signal {}", signal);
  return fmt::format("SIG{} ({})", name, meaning);
}

}  // namespace stepgauge::launch
