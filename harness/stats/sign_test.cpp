#include "stats/sign_test.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>

#include "stats/detail/require.hpp"

namespace stepgauge::stats {

double sign_test_p_above(std::span<const double> differences) {
  detail::require_finite(differences);
  const auto positive = std::count_if(differences.begin(), differences.end(), [](double value) { return value > 0.0; });
  if (positive == 0) return 1.0;
  const boost::math::binomial fair(static_cast<double>(differences.size()), 0.5);
  return boost::math::cdf(boost::math::complement(fair, static_cast<double>(positive - 1)));
}

}  // namespace stepgauge::stats
