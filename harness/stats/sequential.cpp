#include "stats/sequential.hpp"

#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "stats/detail/require.hpp"
#include "stats/detail/stopped_walk.hpp"
#include "stats/detail/student_t.hpp"

namespace stepgauge::stats {
namespace {

constexpr double largest_z = 30.0;  // a boundary here is never crossed
const boost::math::normal normal;

// What of a total error is spent after a share of the information.
double spent(double total, double share) {
  const double z = boost::math::quantile(boost::math::complement(normal, 0.5 * total));
  return 2.0 * boost::math::cdf(boost::math::complement(normal, z / std::sqrt(share)));
}

// Where a falling function of z reaches 0, to a precision far below that of any sd.
template <typename Function>
double root(double low, double high, const Function& function) {
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (function(middle) > 0.0 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

std::vector<double> shares_of(std::span<const std::size_t> pairs) {
  std::vector<double> shares;
  for (const std::size_t n : pairs) shares.push_back(static_cast<double>(n) / static_cast<double>(pairs.back()));
  return shares;
}

std::vector<double> rejection_bounds(const std::vector<double>& shares, double alpha) {
  detail::StoppedWalk walk(0.0);
  std::vector<double> bounds;
  double before = 0.0;
  for (const double share : shares) {
    const double now = spent(alpha, share);
    bounds.push_back(root(-largest_z, largest_z, [&](double z) { return walk.above(z, share) - (now - before); }));
    walk.go_on(-largest_z, bounds.back(), share);
    before = now;
  }
  return bounds;
}

struct Futility {
  std::vector<double> bounds;  // of all looks but the last
  double missed = 0.0;         // chance to come to the last look and end below its rejection bound
};

Futility futility_under(double drift, const std::vector<double>& shares, const std::vector<double>& rejection,
                        double beta) {
  detail::StoppedWalk walk(drift);
  Futility futility;
  double before = 0.0;
  for (std::size_t i = 0; i + 1 < shares.size(); ++i) {
    const double now = spent(beta, shares[i]);
    const double bound =
        root(-largest_z, rejection[i], [&](double z) { return now - before - walk.below(z, shares[i]); });
    futility.bounds.push_back(bound);
    walk.go_on(bound, rejection[i], shares[i]);
    before = now;
  }
  futility.missed = walk.below(rejection.back(), shares.back()) + before;
  return futility;
}

void require_looks(std::span<const std::size_t> pairs) {
  detail::require(!pairs.empty() && pairs.front() >= 2, "the first look has at least two pairs");
  for (std::size_t i = 1; i < pairs.size(); ++i) detail::require(pairs[i - 1] < pairs[i], "the looks must ascend");
}

}  // namespace

SequentialTest sequential_test(std::span<const std::size_t> pairs, const SequentialPlan& plan) {
  require_looks(pairs);
  detail::require(plan.alpha > 0.0 && plan.alpha < 0.5, "alpha must be within (0, 0.5)");
  detail::require(plan.power > plan.alpha && plan.power < 1.0, "power must be within (alpha, 1)");
  const std::vector<double> shares = shares_of(pairs);
  const std::vector<double> rejection = rejection_bounds(shares, plan.alpha);
  const double beta = 1.0 - plan.power;
  const double drift = root(0.0, 2.0 * largest_z, [&](double candidate) {
    return futility_under(candidate, shares, rejection, beta).missed - beta;
  });
  const Futility futility = futility_under(drift, shares, rejection, beta);

  SequentialTest test{.drift = drift, .looks = {}};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const detail::StudentT student(static_cast<double>(pairs[i] - 1));
    const double tail = boost::math::cdf(boost::math::complement(normal, rejection[i]));
    SequentialLook look{.pairs = pairs[i],
                        .spent_alpha = spent(plan.alpha, shares[i]),
                        .reject_z = rejection[i],
                        .reject_t = boost::math::quantile(boost::math::complement(student, tail))};
    if (i < futility.bounds.size()) {
      look.futility_t = boost::math::quantile(student, boost::math::cdf(normal, futility.bounds[i]));
    }
    test.looks.push_back(look);
  }
  return test;
}

SequentialDecision decide(const Paired& sample, const SequentialLook& look, double margin) {
  detail::require(sample.n == look.pairs, "the sample does not have the pairs of this look");
  detail::require(std::isfinite(margin), "the margin must be finite");
  if (sample.sd == 0.0) return sample.mean > margin ? SequentialDecision::above : SequentialDecision::not_above;
  const double t = (sample.mean - margin) / sample.standard_error;
  if (t >= look.reject_t) return SequentialDecision::above;
  if (!look.futility_t || t <= *look.futility_t) return SequentialDecision::not_above;
  return SequentialDecision::go_on;
}

}  // namespace stepgauge::stats
