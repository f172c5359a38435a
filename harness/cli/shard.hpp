#pragma once
#include <fmt/format.h>

#include <string>

namespace stepgauge::cli {

/// One of `count` parts of the selected cells: those whose number, from 1 on, is `index` modulo `count`.
struct Shard {
  int index = 1, count = 1;
  std::string text() const { return fmt::format("{}/{}", index, count); }
};

/// "2/4"; empty is 1/1. Throws ConfigError saying what was expected.
Shard parse_shard(const std::string& text);

}  // namespace stepgauge::cli
