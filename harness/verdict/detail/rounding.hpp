#pragma once

namespace stepgauge::verdict::detail {

inline constexpr double rounding = 1e-12;  ///< of differences that are exact on paper

}  // namespace stepgauge::verdict::detail
