#pragma once

#include <string>

#include "verdict/comparison.hpp"

namespace stepgauge::verdict::detail {

/// Size of a change without sign: "4.0 %" on the ratio scale, "1.2 UNIT" on the points scale.
std::string size_text(const Row& row, double change);

/// With its sign.
std::string change_text(const Row& row, double change);

}  // namespace stepgauge::verdict::detail
