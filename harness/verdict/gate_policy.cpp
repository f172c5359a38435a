#include "verdict/gate_policy.hpp"

namespace stepgauge::verdict {

GatePolicy sequential_policy() {
  GatePolicy out;
  out.looks = {{3, 0}, {5, 0.10}, {8, 0.15}, {12, 0.20}, {20, 0.25}, {30, 0.30}};
  out.confirm_pairs = out.looks.back().pairs;
  out.failure_pairs = 12;
  out.screen_signs = true;
  out.alpha = 0.025;
  return out;
}

const char* design_name(const GatePolicy& policy) {
  return policy.looks.empty() ? "fixed" : "sequential";
}

}  // namespace stepgauge::verdict
