#pragma once

#include <vector>

#include "verdict/compare.hpp"
#include "verdict/detail/row_builder.hpp"

namespace stepgauge::verdict::detail {

/// Gives every measured row its p values, MDE, bound and verdict. Blocking rows are one family for Holm, advisory rows
/// another.
void judge(std::vector<Row>& rows, const std::vector<Measured>& measured, const Policy& policy);

/// What is regressed against a stored baseline of too little history is inconclusive: it shows, and never blocks.
void require_history(std::vector<Row>& rows);

}  // namespace stepgauge::verdict::detail
