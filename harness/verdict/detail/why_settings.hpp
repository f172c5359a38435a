#pragma once
// What the arms were: cell, asked/set/used, software and variables as the ranks saw them, clocks, machine.
#include <utility>
#include <vector>

#include "verdict/detail/why_data.hpp"
#include "verdict/why.hpp"

namespace stepgauge::verdict::detail {

/// What differs between the arms in one cell, the cell's own settings first. `clocks`: medians of the devices'.
std::vector<WhyLine> setting_differences(const CellResults& base, const CellResults& head,
                                         const std::vector<WhyLine>& clocks);

/// Of the runs as a whole: fingerprint, driver, kernel.
std::vector<WhyLine> machine_differences(const ResultSet& base, const ResultSet& head);

/// Takes the lines that every cell has out of all of them and hands them back; nothing with fewer than two cells.
std::vector<WhyLine> take_common(std::vector<std::vector<WhyLine>*> cells);

}  // namespace stepgauge::verdict::detail
