#include "report/detail/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepgauge::report::detail {
namespace {

std::string without_trailing_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string percent_digits(double value) {
  const double size = std::abs(value);
  if (size >= 1e5) return fmt::format("{:.1e}", size);
  return fmt::format("{:.{}f}", size, size < 10 ? 2 : size < 100 ? 1 : 0);
}

}  // namespace

std::string signed_digits(double value) {
  return (value > 0 ? "+" : "") + four_digits(value);
}

std::string four_digits(const std::optional<double>& value) {
  if (!value) return "-";
  if (*value == 0) return "0";
  const double size = std::abs(*value);
  if (size < 1e-4 || size >= 1e9) return fmt::format("{:.3e}", *value);
  const int whole = static_cast<int>(std::floor(std::log10(size)));
  return fmt::format("{:.{}f}", *value, std::clamp(3 - whole, 0, 6));
}

std::string signed_percent(const std::optional<double>& fraction) {
  if (!fraction) return "-";
  const double value = 100 * *fraction;
  const auto digits = percent_digits(value);
  if (digits == "0.00") return "0.00";
  return (value < 0 ? '-' : '+') + digits;
}

std::string percent(const std::optional<double>& fraction) {
  return fraction ? without_trailing_zeros(percent_digits(100 * *fraction)) : "-";
}

}  // namespace stepgauge::report::detail
