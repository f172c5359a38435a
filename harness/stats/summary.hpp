#pragma once

#include <optional>
#include <span>

// Summaries of one sample. "Cannot be estimated" is std::nullopt; a value that is not finite is a broken
// contract (std::invalid_argument).
namespace stepgauge::stats {

// 1.4826 * MAD estimates the standard deviation of normal data.
inline constexpr double mad_to_sd = 1.4826;

// Arithmetic mean; nullopt for an empty sample.
std::optional<double> mean(std::span<const double> values);

// Mean without the floor(share * n) smallest and as many largest values, 0 <= share < 0.5.
std::optional<double> trimmed_mean(std::span<const double> values, double share);

// Sample variance and standard deviation (n - 1); nullopt for fewer than two values. Exactly 0 when all are
// equal.
std::optional<double> variance(std::span<const double> values);
std::optional<double> standard_deviation(std::span<const double> values);

// Quantile of order q in [0, 1], type 7 of Hyndman and Fan (linear between order statistics, as R and NumPy
// do).
std::optional<double> quantile(std::span<const double> values, double q);
std::optional<double> median(std::span<const double> values);

// Median absolute deviation from the median, not scaled (see mad_to_sd).
std::optional<double> median_absolute_deviation(std::span<const double> values);

// Standard deviation / |mean|, as a fraction; nullopt for fewer than two values or a mean of 0.
std::optional<double> coefficient_of_variation(std::span<const double> values);

// exp(mean(ln x)); nullopt for an empty sample or any value <= 0.
std::optional<double> geometric_mean(std::span<const double> values);

// sum(numerators) / sum(denominators), e.g. work over time; nullopt when the lower sum is 0. Lengths must
// agree.
std::optional<double> ratio_of_sums(std::span<const double> numerators, std::span<const double> denominators);

}  // namespace stepgauge::stats
