#include "store/detail/name.hpp"

#include "contract/digest.hpp"

namespace stepgauge::store::detail {
namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

std::string file_name(std::string_view text, std::size_t longest) {
  constexpr std::size_t tail = 9;
  std::string out(text);
  if (out.size() > longest && longest > tail) {
    out = out.substr(0, longest - tail) + out.substr(out.size() - tail);
  }
  for (char& c : out) {
    if (!is_letter_or_digit(c) && std::string_view("._+-").find(c) == std::string_view::npos) c = '_';
  }
  if (!out.empty() && out.front() == '.') out.front() = '_';
  return out;
}

std::string short_hash(std::string_view text) {
  return sha256_hex(text).substr(0, 8);
}

std::string slug(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_letter_or_digit(c)) {
      out += (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

}  // namespace stepgauge::store::detail
