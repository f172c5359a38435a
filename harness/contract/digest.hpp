#pragma once
#include <string>
#include <string_view>

namespace stepgauge {

/// SHA-256 in 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

/// The same of a regular file of any size. Throws std::system_error naming the path.
std::string sha256_hex_of_file(const std::string& path);

}  // namespace stepgauge
