#pragma once

// What a planned one-sided test is to prove, of two samples (mde.hpp) or of pairs (paired_power.hpp).
namespace stepgauge::stats {

// H0: "the true difference is at most margin" at the one-sided level alpha; power: the chance to reject it that a plan
// is made for. The margin shares the scale of the differences. Divide alpha by the number of tests first.
struct TestPlan {
  double alpha = 0.05;
  double power = 0.8;
  double margin = 0.0;
};

}  // namespace stepgauge::stats
