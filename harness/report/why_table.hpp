#pragma once
#include <cstddef>
#include <string>

#include "report/style.hpp"
#include "verdict/why.hpp"

namespace stepgauge::report {

/// Verdict and patterns over the matrix first, then one block a row, its most telling part first. Of each part at most
/// `top` lines.
std::string why_table(const verdict::Why& why, std::size_t top, const Style& style);

}  // namespace stepgauge::report
