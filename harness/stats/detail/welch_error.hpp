#pragma once

#include <cmath>
#include <cstddef>
#include <optional>

namespace stepgauge::stats::detail {

struct WelchError {
  double standard_error;
  double df;
};

// Standard error of a difference of two means and its Welch-Satterthwaite df, from the variances of the
// values. At least two values an arm. nullopt when neither arm has spread.
inline std::optional<WelchError> welch_error(double base_variance, std::size_t n_base, double head_variance,
                                             std::size_t n_head) {
  const double base_part = base_variance / static_cast<double>(n_base);
  const double head_part = head_variance / static_cast<double>(n_head);
  const double total = base_part + head_part;
  if (total == 0.0) return std::nullopt;
  // Shares, not squares of variances: those of tiny spreads would underflow.
  const double base_share = base_part / total;
  const double head_share = head_part / total;
  const double df = 1.0 / (base_share * base_share / static_cast<double>(n_base - 1) +
                           head_share * head_share / static_cast<double>(n_head - 1));
  return WelchError{std::sqrt(total), df};
}

}  // namespace stepgauge::stats::detail
