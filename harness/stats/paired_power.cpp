#include "stats/paired_power.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/special_functions/gamma.hpp>
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

double normal_upper_tail(double z) {
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

// Integral of function(u) over u above `from`, by the density of u = sqrt(chi^2_df / df).
template <typename Function>
double over_spread(double from, double df, const Function& function) {
  const double log_scale = std::log(2.0) + 0.5 * df * std::log(0.5 * df) - std::lgamma(0.5 * df);
  const auto integrand = [&](double u) {
    return std::exp(log_scale + (df - 1.0) * std::log(u) - 0.5 * df * u * u) * function(u);
  };
  // The density is below 1e-16 beyond these.
  const double lower = std::max(from, 1.0 - 9.0 / std::sqrt(2.0 * df));
  const double upper = 1.0 + 9.0 / std::sqrt(2.0 * df) + 2.0 / df;
  if (lower >= upper) return 0.0;
  constexpr int pieces = 16;
  const double width = (upper - std::max(lower, 0.0)) / pieces;
  double sum = 0.0;
  for (int i = 0; i < pieces; ++i) {
    const double begin = std::max(lower, 0.0) + width * i;
    sum += boost::math::quadrature::gauss<double, 15>::integrate(integrand, begin, begin + width);
  }
  return sum;
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

double paired_power_at_least(double effect, double sd, std::size_t n, const TestPlan& plan, double least) {
  require_plan(sd, plan);
  detail::require(std::isfinite(effect) && std::isfinite(least), "effect and least estimate must be finite");
  detail::require(n >= 2, "a paired test has at least two pairs");
  if (sd == 0.0) return effect > plan.margin && effect >= least ? 1.0 : 0.0;
  const auto df = static_cast<double>(n - 1);
  const double root = std::sqrt(static_cast<double>(n)) / sd;
  const double critical = detail::student_t_quantile(1.0 - plan.alpha, df);
  // Up to this spread of the pairs the least estimate decides, above it the test.
  const double turn = std::max((least - plan.margin) * root / critical, 0.0);
  const double below = turn > 0.0 ? boost::math::gamma_p(0.5 * df, 0.5 * df * turn * turn) : 0.0;
  const double above =
      over_spread(turn, df, [&](double u) { return normal_upper_tail((plan.margin - effect) * root + critical * u); });
  return std::clamp(below * normal_upper_tail((least - effect) * root) + above, 0.0, 1.0);
}

std::optional<std::size_t> pairs_needed(double effect, double sd, const TestPlan& plan, std::size_t cap) {
  require_plan(sd, plan);
  detail::require(std::isfinite(effect), "the effect must be finite");
  if (effect <= plan.margin) return std::nullopt;
  return detail::fewest(cap, [&](std::size_t n) { return paired_power(effect, sd, n, plan) >= plan.power; });
}

}  // namespace stepgauge::stats
