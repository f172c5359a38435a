#pragma once
#include <string>

#include "report/style.hpp"
#include "verdict/comparison.hpp"

namespace stepgauge::report {

/// Header with the counts, blocking rows grouped by cell, advisory rows that changed, what differs in software, cells
/// on one side only, geometric means with their numbers of cells, and notes.
std::string comparison_table(const verdict::Comparison& comparison, const Style& style = {});

}  // namespace stepgauge::report
