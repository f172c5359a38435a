#pragma once
// Text of a suite -> tree. Bounded in bytes, depth and nodes, so that no file can make it hang.
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "config/node.hpp"

namespace stepgauge::config {

enum class Format {
  automatic,  ///< by the name (.json, .yaml, .yml), else JSON where the text starts with `{`
  yaml,       ///< YAML 1.2 core, one document
  json,       ///< strict JSON
};

inline constexpr std::size_t max_document_bytes = 1u << 20;
inline constexpr std::size_t max_document_nodes = 100'000;
inline constexpr std::size_t max_document_depth = 64;

/// Parses the text; `origin` is the file name in errors. Throws ConfigError.
NodePtr parse_document(std::string_view text, const std::string& origin, Format format = Format::automatic);

/// Reads a regular file of at most 1 MiB and parses it. Throws ConfigError.
NodePtr load_document(const std::filesystem::path& path);

}  // namespace stepgauge::config
