#include "stats/mde.hpp"

#include <cmath>

#include "stats/detail/fewest.hpp"
#include "stats/detail/require.hpp"
#include "stats/detail/student_t.hpp"
#include "stats/detail/welch_error.hpp"

namespace stepgauge::stats {
namespace {

void require_plan(const TestPlan& plan) {
  detail::require(plan.alpha > 0.0 && plan.alpha < 1.0, "alpha must be within (0, 1)");
  detail::require(plan.power > plan.alpha && plan.power < 1.0, "power must be within (alpha, 1)");
  detail::require(std::isfinite(plan.margin), "the margin must be finite");
}

double detectable(double standard_error, double df, const TestPlan& plan) {
  const double sum = detail::student_t_quantile(1.0 - plan.alpha, df) + detail::student_t_quantile(plan.power, df);
  return plan.margin + sum * standard_error;
}

}  // namespace

std::optional<double> minimum_detectable_effect(const Arm& base, const Arm& head, const TestPlan& plan) {
  require_plan(plan);
  for (const Arm& arm : {base, head}) {
    detail::require(std::isfinite(arm.sd) && arm.sd >= 0.0, "a standard deviation must be finite and not negative");
  }
  if (base.n < 2 || head.n < 2) return std::nullopt;
  const auto error = detail::welch_error(base.sd * base.sd, base.n, head.sd * head.sd, head.n);
  return error ? detectable(error->standard_error, error->df, plan) : plan.margin;
}

std::optional<double> minimum_detectable_effect(const TwoSample& sample, const TestPlan& plan) {
  require_plan(plan);
  if (sample.exact) return plan.margin;
  if (!sample.standard_error || !sample.df) return std::nullopt;
  return detectable(*sample.standard_error, *sample.df, plan);
}

std::optional<std::size_t> launches_needed(double sd, double effect, const TestPlan& plan, std::size_t cap) {
  detail::require(std::isfinite(effect), "the effect must be finite");
  const auto seen_with = [&](std::size_t n) {
    const auto mde = minimum_detectable_effect({sd, n}, {sd, n}, plan);
    return mde && *mde <= effect;
  };
  require_plan(plan);
  if (effect <= plan.margin) return std::nullopt;
  return detail::fewest(cap, seen_with);
}

}  // namespace stepgauge::stats
