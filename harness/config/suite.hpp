#pragma once
// A suite: one YAML or JSON file under configs/, read, checked and expanded into cells.
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_error.hpp"
#include "config/document.hpp"
#include "contract/cell.hpp"
#include "contract/result_set.hpp"

namespace stepgauge::config {

struct Suite {
  std::string name, description;
  std::filesystem::path path;
  std::map<std::string, std::vector<std::string>> workers;  ///< name -> argv, paths as written
  std::vector<Cell> cells;                                  ///< in order of expansion, identities assigned
  std::vector<std::size_t> places;                          ///< per cell: the same for a cell and for its variants
  std::vector<SkippedCell> excluded;                        ///< dropped by `exclude`, with the place that did
  std::size_t merged = 0;                                   ///< cells identical to an earlier one, kept once
};

/// Reads a suite and what it extends; `variant` (config/variant.hpp) changes every cell. Throws ConfigError.
Suite load_suite(const std::filesystem::path& path, const NodePtr& variant = nullptr);

/// The same from a text; `origin` names it in errors, and `extends` is relative to its folder.
Suite parse_suite(std::string_view text, const std::string& origin, Format format = Format::automatic);

}  // namespace stepgauge::config
