#include "stats/paired.hpp"

#include <cmath>

#include "stats/detail/require.hpp"
#include "stats/detail/student_t.hpp"
#include "stats/summary.hpp"

namespace stepgauge::stats {
namespace {

double quantile_in_errors(const Paired& sample, double probability) {
  return detail::student_t_quantile(probability, sample.df) * sample.standard_error;
}

void require_confidence(double confidence) {
  detail::require(confidence > 0.0 && confidence < 1.0, "the confidence must be within (0, 1)");
}

}  // namespace

std::optional<Paired> paired(std::span<const double> differences) {
  const auto centre = mean(differences);
  const auto spread = standard_deviation(differences);
  if (!spread) return std::nullopt;
  const auto n = static_cast<double>(differences.size());
  return Paired{.n = differences.size(),
                // The rounded mean of equal differences need not be their value.
                .mean = *spread == 0.0 ? differences.front() : *centre,
                .sd = *spread,
                .standard_error = *spread / std::sqrt(n),
                .df = n - 1.0};
}

double paired_p_above(const Paired& sample, double margin) {
  detail::require(std::isfinite(margin), "the margin must be finite");
  if (sample.sd == 0.0) return sample.mean > margin ? 0.0 : 1.0;
  return detail::student_t_upper_tail((sample.mean - margin) / sample.standard_error, sample.df);
}

std::pair<double, double> paired_interval(const Paired& sample, double confidence) {
  require_confidence(confidence);
  const double half = quantile_in_errors(sample, 0.5 * (1.0 + confidence));
  return {sample.mean - half, sample.mean + half};
}

double paired_upper_bound(const Paired& sample, double confidence) {
  require_confidence(confidence);
  return sample.mean + quantile_in_errors(sample, confidence);
}

}  // namespace stepgauge::stats
