#include "verdict/detail/wording.hpp"

#include <fmt/format.h>

#include <cmath>

namespace stepgauge::verdict::detail {

std::string size_text(const Row& row, double change) {
  const double size = std::abs(change);
  if (row.scale == Scale::points) return fmt::format("{:.3g} {}", size, row.unit == "%" ? "points" : row.unit);
  return size < 10 ? fmt::format("{:.1f} %", 100 * size) : fmt::format("{:.3g} %", 100 * size);
}

std::string change_text(const Row& row, double change) {
  return fmt::format("{}{}", change < 0 ? '-' : '+', size_text(row, change));
}

}  // namespace stepgauge::verdict::detail
