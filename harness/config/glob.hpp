#pragma once
#include <string>
#include <string_view>

namespace stepgauge::config {

/// fnmatch(3) on the whole text: `*` any characters, "/" too, `?` one, `[a-c]` one of a set, `\` quotes the next.
bool glob_match(const std::string& glob, const std::string& text);

/// Whether the text has any of `* ? [`.
bool is_glob(std::string_view text);

}  // namespace stepgauge::config
