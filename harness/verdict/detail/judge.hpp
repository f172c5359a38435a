#pragma once

#include <vector>

#include "verdict/compare.hpp"
#include "verdict/detail/row_builder.hpp"

namespace stepgauge::verdict::detail {

/// Gives every measured row its p values, MDE, bound and verdict. Blocking rows are one family for Holm, advisory rows
/// another.
void judge(std::vector<Row>& rows, const std::vector<Measured>& measured, const Policy& policy);

}  // namespace stepgauge::verdict::detail
