#pragma once

#include <string>

#include "verdict/comparison.hpp"

namespace stepgauge::verdict::detail {

/// Size of a change without sign: "4.0 %" on the ratio scale, "1.2 UNIT" on the points scale.
std::string size_text(Scale scale, const std::string& unit, double change);

/// With its sign. A row is of a comparison or of a gate.
template <typename R>
std::string change_text(const R& row, double change) {
  return (change < 0 ? '-' : '+') + size_text(row.scale, row.unit, change);
}

template <typename R>
std::string size_text(const R& row, double change) {
  return size_text(row.scale, row.unit, change);
}

}  // namespace stepgauge::verdict::detail
