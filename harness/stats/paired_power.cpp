#include "stats/paired_power.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/non_central_t.hpp>
#include <cmath>

#include "stats/detail/fewest.hpp"
#include "stats/detail/require.hpp"
#include "stats/detail/student_t.hpp"

namespace stepgauge::stats {
namespace {

// Beyond it the normal part of the noncentral t moves nothing, and the series of Boost needs very many terms.
constexpr double large_noncentrality = 1e4;

void require_plan(double sd, const TestPlan& plan) {
  detail::require(std::isfinite(sd) && sd >= 0.0, "a standard deviation must be finite and not negative");
  detail::require(plan.alpha > 0.0 && plan.alpha < 0.5, "alpha must be within (0, 0.5)");
  detail::require(plan.power > plan.alpha && plan.power < 1.0, "power must be within (alpha, 1)");
  detail::require(std::isfinite(plan.margin), "the margin must be finite");
}

// P(T > critical) for T = (Z + noncentrality) / sqrt(chi^2_df / df), critical > 0.
double noncentral_t_upper_tail(double critical, double df, double noncentrality) {
  if (noncentrality < -large_noncentrality) return 0.0;
  if (noncentrality > large_noncentrality) {
    const double ratio = std::min(noncentrality / critical, 1e6);  // at 1e6 it is certain; larger ones overflow
    return boost::math::cdf(boost::math::chi_squared(df), df * ratio * ratio);
  }
  return boost::math::cdf(boost::math::complement(boost::math::non_central_t(df, noncentrality), critical));
}

}  // namespace

double paired_mde(double sd, std::size_t n, const TestPlan& plan) {
  require_plan(sd, plan);
  detail::require(n >= 2, "a paired test has at least two pairs");
  const auto df = static_cast<double>(n - 1);
  const double sum = detail::student_t_quantile(1.0 - plan.alpha, df) + detail::student_t_quantile(plan.power, df);
  return plan.margin + sum * sd / std::sqrt(static_cast<double>(n));
}

double paired_power(double effect, double sd, std::size_t n, const TestPlan& plan) {
  require_plan(sd, plan);
  detail::require(std::isfinite(effect), "the effect must be finite");
  detail::require(n >= 2, "a paired test has at least two pairs");
  const double above = effect - plan.margin;
  if (sd == 0.0) return above > 0.0 ? 1.0 : 0.0;
  const auto df = static_cast<double>(n - 1);
  const double critical = detail::student_t_quantile(1.0 - plan.alpha, df);
  return noncentral_t_upper_tail(critical, df, above / sd * std::sqrt(static_cast<double>(n)));
}

std::optional<std::size_t> pairs_needed(double effect, double sd, const TestPlan& plan, std::size_t cap) {
  require_plan(sd, plan);
  detail::require(std::isfinite(effect), "the effect must be finite");
  if (effect <= plan.margin) return std::nullopt;
  return detail::fewest(cap, [&](std::size_t n) { return paired_power(effect, sd, n, plan) >= plan.power; });
}

}  // namespace stepgauge::stats
