#pragma once
#include <string>
#include <vector>

#include "contract/cell.hpp"

namespace stepgauge::config {

/// The user's choice on the command line: globs on cell ids, with or without the "-hash" at the end.
struct Selection {
  std::vector<std::string> only;  ///< empty: all
  std::vector<std::string> skip;
  const char* only_name = "--only";  ///< in errors
};

/// The cells that match any of `only` and none of `skip`, in their order. Throws ConfigError (no file) for a glob that
/// matches no cell, naming the nearest id, and when nothing is left.
std::vector<Cell> select(const std::vector<Cell>& cells, const Selection& selection);

/// The name that a glob which matches none of them (there must be one) was most likely meant for.
std::string nearest_to_glob(const std::string& glob, const std::vector<std::string>& names);

}  // namespace stepgauge::config
