#pragma once

#include <string>
#include <string_view>

namespace stepgauge::store::detail {

/// Part of a file name: everything but letters, digits and "._+-" becomes "_", a leading dot too. Longer texts lose
/// their middle; the last 9 characters (the hash of a cell id) stay.
std::string file_name(std::string_view text, std::size_t longest = 80);

/// First 8 hex digits of SHA-256.
std::string short_hash(std::string_view text);

/// Lower case, runs of anything but letters and digits become one "-"; "NVIDIA H200" -> "nvidia-h200".
std::string slug(std::string_view text);

}  // namespace stepgauge::store::detail
