#include "stats/welch.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "stats/detail/require.hpp"
#include "stats/detail/student_t.hpp"
#include "stats/detail/welch_error.hpp"
#include "stats/summary.hpp"

namespace stepgauge::stats {
namespace {

std::optional<std::vector<double>> on_scale(std::span<const double> values, Scale scale) {
  detail::require_finite(values);
  std::vector<double> scaled(values.begin(), values.end());
  if (scale == Scale::points) return scaled;
  for (double& value : scaled) {
    if (value <= 0.0) return std::nullopt;
    value = std::log(value);
  }
  return scaled;
}

}  // namespace

std::optional<TwoSample> compare(std::span<const double> base, std::span<const double> head, Scale scale) {
  const auto base_values = on_scale(base, scale);
  const auto head_values = on_scale(head, scale);
  if (!base_values || !head_values || base.empty() || head.empty()) return std::nullopt;
  TwoSample sample{.diff = *mean(*head_values) - *mean(*base_values), .n_base = base.size(), .n_head = head.size()};
  const auto base_variance = variance(*base_values);
  const auto head_variance = variance(*head_values);
  if (!base_variance || !head_variance) return sample;
  const auto error = detail::welch_error(*base_variance, base.size(), *head_variance, head.size());
  if (!error) {
    sample.exact = true;
    return sample;
  }
  sample.standard_error = error->standard_error;
  sample.df = error->df;
  return sample;
}

TwoSample mirrored(const TwoSample& sample) {
  TwoSample swapped = sample;
  swapped.diff = -sample.diff;
  std::swap(swapped.n_base, swapped.n_head);
  return swapped;
}

std::optional<Interval> confidence_interval(const TwoSample& sample, double level) {
  detail::require(level > 0.0 && level < 1.0, "the level of an interval must be within (0, 1)");
  if (!sample.standard_error || !sample.df) return std::nullopt;
  const double half = detail::student_t_quantile(0.5 * (1.0 + level), *sample.df) * *sample.standard_error;
  return Interval{sample.diff - half, sample.diff + half};
}

std::optional<double> p_greater(const TwoSample& sample, double theta) {
  detail::require(std::isfinite(theta), "theta must be finite");
  if (!sample.standard_error || !sample.df) return std::nullopt;
  return detail::student_t_upper_tail((sample.diff - theta) / *sample.standard_error, *sample.df);
}

double relative_effect(double ln_diff) {
  detail::require(std::isfinite(ln_diff), "values must be finite");
  return std::expm1(ln_diff);
}

}  // namespace stepgauge::stats
