#include "stats/detail/stopped_walk.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace stepgauge::stats::detail {
namespace {

constexpr double reach = 8.0;     // of Z about its mean; beyond lies less than 1e-15
constexpr double spacing = 0.05;  // of the nodes of Simpson's rule

double normal_upper_tail(double z) {
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}

double normal_density(double z) {
  return std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
}

}  // namespace

// The sum at share t is sqrt(t) Z; its step from the last look is normal with mean drift * dt and variance dt.
template <typename Function>
double StoppedWalk::over_steps(double bound, double share, const Function& function) const {
  const double dt = share - share_;
  double total = 0.0;
  for (const Node& node : nodes_) {
    const double step = bound * std::sqrt(share) - node.z * std::sqrt(share_) - drift_ * dt;
    total += node.weight * function(step / std::sqrt(dt));
  }
  return total;
}

double StoppedWalk::above(double bound, double share) const {
  return over_steps(bound, share, normal_upper_tail);
}

double StoppedWalk::below(double bound, double share) const {
  return over_steps(bound, share, [](double z) { return normal_upper_tail(-z); });
}

void StoppedWalk::go_on(double lower, double upper, double share) {
  const double centre = drift_ * std::sqrt(share);
  const double first = std::max(lower, centre - reach);
  const double last = std::min(upper, centre + reach);
  std::vector<Node> nodes;
  if (first < last) {
    const double to_density = std::sqrt(share / (share - share_));
    const auto panels = 2 * static_cast<int>(std::ceil((last - first) / (2.0 * spacing)));
    const double width = (last - first) / panels;
    for (int i = 0; i <= panels; ++i) {
      const double z = first + i * width;
      const double simpson = (i == 0 || i == panels ? 1.0 : i % 2 == 1 ? 4.0 : 2.0) * width / 3.0;
      nodes.push_back({z, simpson * to_density * over_steps(z, share, normal_density)});
    }
  }
  nodes_ = std::move(nodes);
  share_ = share;
}

}  // namespace stepgauge::stats::detail
