#pragma once

#include <string>
#include <vector>

#include "verdict/trend.hpp"

namespace stepgauge::verdict::detail {

/// Why a row has its state, or what to do about it; may be empty for a quiet one.
std::string reason_of(const TrendRow& row, const TrendSeries& series, const TrendInput& input,
                      const TrendPolicy& policy);

/// What concerns all series: days without a night, the control build.
std::vector<std::string> trend_notes(const TrendInput& input, const Trend& trend);

}  // namespace stepgauge::verdict::detail
