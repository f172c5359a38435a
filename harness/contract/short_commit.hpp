#pragma once
#include <string>
#include <string_view>

namespace stepgauge {

/// The first twelve digits of a commit's id: for tables, messages and names of folders.
inline std::string short_commit(std::string_view id) {
  return std::string(id.substr(0, 12));
}

}  // namespace stepgauge
