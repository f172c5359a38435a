#pragma once
#include <string>
#include <string_view>

namespace stepgauge {

/// A to Z as a to z, whatever the locale; other bytes as they are.
inline std::string lower_case(std::string_view text) {
  std::string out(text);
  for (auto& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace stepgauge
