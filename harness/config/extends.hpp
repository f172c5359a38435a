#pragma once
#include <filesystem>

#include "config/node.hpp"

namespace stepgauge::config {

inline constexpr std::size_t max_extends_depth = 8;

/// The tree with everything that it extends: this file's keys win; workers, defaults, axes, measure, limits, requires
/// and tolerance merge by key; everything else replaces. `name` is never inherited. Paths are relative to the file
/// that names them. Throws ConfigError for a cycle, more than 8 files, or a version that this program does not read.
NodePtr with_bases(const NodePtr& root, const std::filesystem::path& path);

}  // namespace stepgauge::config
