#include "cli/shard.hpp"

#include <charconv>

#include "config/config_error.hpp"

namespace stepgauge::cli {

Shard parse_shard(const std::string& text) {
  Shard out;
  if (text.empty()) return out;
  const auto* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, out.index);
  const bool slash = first.ec == std::errc{} && first.ptr != end && *first.ptr == '/';
  const auto second = slash ? std::from_chars(first.ptr + 1, end, out.count) : first;
  if (!slash || second.ec != std::errc{} || second.ptr != end || out.count < 1 || out.index < 1 ||
      out.index > out.count) {
    throw config::ConfigError("", 0, 0,
                              fmt::format("--shard: expected I/N with 1 <= I <= N, e.g. 2/4, found \"{}\"", text));
  }
  return out;
}

}  // namespace stepgauge::cli
