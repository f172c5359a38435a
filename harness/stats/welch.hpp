#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "stats/interval.hpp"

// Comparison of two independent samples of launch values with unequal variances (Welch 1947).
namespace stepgauge::stats {

// ratio: differences of ln values (throughput, latency, memory). points: plain differences (percentage
// points).
enum class Scale { ratio, points };

struct TwoSample {
  double diff = 0.0;  // head - base, on the scale: mean of ln values or mean of values
  std::size_t n_base = 0;
  std::size_t n_head = 0;
  std::optional<double> standard_error{};  // of diff; nullopt when exact or an arm has fewer than two values
  std::optional<double> df{};              // Welch-Satterthwaite; present exactly when standard_error is
  bool exact = false;                      // two or more values and no spread in both arms: diff is a fact
};

// When one arm alone has no spread the standard error and df are those of the other arm. nullopt when an arm
// is empty, or on the ratio scale when a value is <= 0. Throws std::invalid_argument on a value that is not
// finite.
std::optional<TwoSample> compare(std::span<const double> base, std::span<const double> head, Scale scale);

// The same comparison with base and head exchanged: for metrics where lower is worse, and for improvements.
TwoSample mirrored(const TwoSample& sample);

// Two-sided confidence interval of diff at a level within (0, 1), on the same scale. nullopt without standard
// error.
std::optional<Interval> confidence_interval(const TwoSample& sample, double level);

// One-sided p value of H0: diff <= theta against diff > theta. nullopt without standard error.
std::optional<double> p_greater(const TwoSample& sample, double theta = 0.0);

// Effect of a difference (or of a bound of it) on the ratio scale: exp(diff) - 1, as a fraction of base.
double relative_effect(double ln_diff);

}  // namespace stepgauge::stats
