#include "verdict/detail/wording.hpp"

#include <fmt/format.h>

#include <cmath>

namespace stepgauge::verdict::detail {

std::string size_text(Scale scale, const std::string& unit, double change) {
  const double size = std::abs(change);
  if (scale == Scale::points) return fmt::format("{:.3g} {}", size, unit == "%" ? "points" : unit);
  return size < 10 ? fmt::format("{:.1f} %", 100 * size) : fmt::format("{:.3g} %", 100 * size);
}

}  // namespace stepgauge::verdict::detail
