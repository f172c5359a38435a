#pragma once
#include <string>

#include "report/style.hpp"
#include "verdict/calibration_json.hpp"

namespace stepgauge::report {

/// The noise of the blocking rows, what tolerance is gateable and at what cost; what cannot be gated, with reasons.
std::string calibration_table(const verdict::Calibration& calibration, const verdict::CalibrationContext& context,
                              const Style& style);

/// Pairs and minutes a gate would take, for the blocking rows, and what it could not see.
std::string plan_table(const verdict::Calibration& calibration, const verdict::CalibrationContext& context,
                       const Style& style);

}  // namespace stepgauge::report
