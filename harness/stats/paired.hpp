#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

// The paired t test (Student 1908) on the differences d_i of n pairs: one number per pair of launches that ran
// side by side, head - base, on the scale of the analysis (ln values or plain points). Whatever both launches
// of a pair share, such as the session, cancels.
namespace stepgauge::stats {

struct Paired {
  std::size_t n;
  double mean;
  double sd;              // of the differences; 0 exactly when all are equal
  double standard_error;  // of the mean
  double df;              // of sd
};

// nullopt for fewer than two differences. Throws std::invalid_argument on one that is not finite.
std::optional<Paired> paired(std::span<const double> differences);

// One-sided p value of H0: "true mean <= margin". Without spread the mean is a fact: 0 when it lies above the
// margin, else 1.
double paired_p_above(const Paired& sample, double margin);

// Two-sided confidence interval of the mean, {lower, upper}; confidence within (0, 1).
std::pair<double, double> paired_interval(const Paired& sample, double confidence);

// The mean lies below this with the given confidence (one-sided).
double paired_upper_bound(const Paired& sample, double confidence);

}  // namespace stepgauge::stats
