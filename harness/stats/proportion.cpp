#include "stats/proportion.hpp"

#include <boost/math/distributions/binomial.hpp>

#include "stats/detail/require.hpp"

namespace stepgauge::stats {
namespace {

using Binomial = boost::math::binomial_distribution<double>;

void require_counts(std::size_t successes, std::size_t trials, double confidence) {
  detail::require(trials > 0, "a proportion has at least one trial");
  detail::require(successes <= trials, "there are more successes than trials");
  detail::require(confidence > 0.0 && confidence < 1.0, "the confidence must be within (0, 1)");
}

// tail: the chance left above the bound.
double upper_bound(std::size_t successes, std::size_t trials, double tail) {
  return Binomial::find_upper_bound_on_p(static_cast<double>(trials), static_cast<double>(successes), tail);
}

}  // namespace

Interval clopper_pearson(std::size_t successes, std::size_t trials, double confidence) {
  require_counts(successes, trials, confidence);
  const double tail = 0.5 * (1.0 - confidence);
  return {Binomial::find_lower_bound_on_p(static_cast<double>(trials), static_cast<double>(successes), tail),
          upper_bound(successes, trials, tail)};
}

double clopper_pearson_upper(std::size_t successes, std::size_t trials, double confidence) {
  require_counts(successes, trials, confidence);
  return upper_bound(successes, trials, 1.0 - confidence);
}

}  // namespace stepgauge::stats
