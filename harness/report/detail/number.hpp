#pragma once
// Numbers for people: independent of the locale, no exponent where a plain number fits.
#include <optional>
#include <string>

namespace stepgauge::report::detail {

inline constexpr double mib = 1024.0 * 1024.0;  ///< bytes

/// Four significant digits (or the whole integer part): 1.234, 12.34, 123.4, 1234, 123456. "-" without a value.
std::string four_digits(const std::optional<double>& value);

/// The same with "+" before what is above 0.
std::string signed_digits(double value);

/// A fraction in percent, signed: "+16.8", "-0.25"; "-" without a value.
std::string signed_percent(const std::optional<double>& fraction);

/// A fraction in percent without sign: "2", "10.4", "0.25".
std::string percent(const std::optional<double>& fraction);

}  // namespace stepgauge::report::detail
