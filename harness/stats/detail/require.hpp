#pragma once

#include <cmath>
#include <span>
#include <stdexcept>
#include <string>

namespace stepgauge::stats::detail {

// Throws std::invalid_argument when the contract of a function is broken.
inline void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(std::string("stepgauge::stats: ") + what);
}

inline void require_finite(std::span<const double> values) {
  for (const double value : values) require(std::isfinite(value), "values must be finite");
}

}  // namespace stepgauge::stats::detail
