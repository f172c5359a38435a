#pragma once

#include <vector>

namespace stepgauge::stats::detail {

// A standardised sum Z that is looked at after shares t of its final information, with the mean drift * sqrt(t), and
// that stops when it leaves an interval (Armitage, McPherson and Rowe 1969). Holds the density of Z on the walks that
// went on so far.
class StoppedWalk {
 public:
  explicit StoppedWalk(double drift) : drift_(drift) {}

  // Chance to go on up to now and have Z >= bound, or Z < bound, at the next look after share t, above the last one.
  double above(double bound, double share) const;
  double below(double bound, double share) const;

  // Looks at share t; walks go on whose Z lies within (lower, upper).
  void go_on(double lower, double upper, double share);

 private:
  template <typename Function>
  double over_steps(double bound, double share, const Function& function) const;

  struct Node {
    double z;
    double weight;  // density times the weight of the quadrature
  };

  double drift_;
  double share_ = 0.0;
  std::vector<Node> nodes_{{0.0, 1.0}};
};

}  // namespace stepgauge::stats::detail
