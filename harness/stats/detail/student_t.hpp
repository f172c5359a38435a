#pragma once

#include <boost/math/distributions/students_t.hpp>

namespace stepgauge::stats::detail {

// double precision is enough; promotion to long double costs a factor of three.
using StudentT =
    boost::math::students_t_distribution<double,
                                         boost::math::policies::policy<boost::math::policies::promote_double<false>>>;

// P(T > t) with df degrees of freedom.
inline double student_t_upper_tail(double t, double df) {
  return boost::math::cdf(boost::math::complement(StudentT(df), t));
}

// The t that T stays below with this probability.
inline double student_t_quantile(double probability, double df) {
  return boost::math::quantile(StudentT(df), probability);
}

}  // namespace stepgauge::stats::detail
