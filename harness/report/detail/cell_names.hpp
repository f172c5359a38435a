#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stepgauge::report::detail {

struct CellNames {
  std::vector<std::string> names;  ///< in the order of the ids
  std::string common;              ///< parts that all ids share and the names leave out; empty when none
};

/// Names for a table: the ids as they are where all fit, else without the parts ("/...") that all of them share. The
/// hash at the end always stays.
CellNames cell_names(const std::vector<std::string>& ids, std::size_t width);

}  // namespace stepgauge::report::detail
