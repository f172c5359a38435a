#pragma once
#include <string>

#include "contract/cell.hpp"

namespace stepgauge::stub {

/// At the start of a warm launch: why the caches must not be used, "" when they are good. Removes the stamp of bad
/// ones.
std::string check_caches(const Cell& cell);

/// After a launch that went well: a compiled file and the stamp that vouches for it. Nothing where the cell has no
/// caches.
void fill_caches(const Cell& cell);

}  // namespace stepgauge::stub
