#pragma once
// One metric of one cell over the sessions of a calibration.
#include <vector>

#include "verdict/calibration.hpp"

namespace stepgauge::verdict::detail {

/// The row of a metric; nullopt when no session has a value of it. `sessions` are those of the cell, in order of time.
std::optional<CalibrationRow> calibration_row(const Cell& cell, const MetricInfo& metric,
                                              const std::vector<const CalibrationCell*>& sessions,
                                              const GateWish& wish);

}  // namespace stepgauge::verdict::detail
