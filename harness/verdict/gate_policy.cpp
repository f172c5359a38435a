#include "verdict/gate_policy.hpp"

#include <fmt/format.h>

namespace stepgauge::verdict {

GatePolicy sequential_policy() {
  GatePolicy out;
  out.looks = {{3, 0}, {5, 0.10}, {8, 0.15}, {12, 0.20}, {20, 0.25}, {30, 0.30}};
  out.confirm_pairs = out.looks.back().pairs;
  out.failure_pairs = 12;
  out.screen_signs = true;
  out.warm_up = true;
  out.alpha = 0.025;
  return out;
}

const char* design_name(const GatePolicy& policy) {
  return policy.looks.empty() ? "fixed" : "sequential";
}

std::string design_text(const GatePolicy& policy) {
  const auto least = policy.looks.empty() ? "" : fmt::format("{} to ", policy.looks.front().pairs);
  return fmt::format("{} design: {}{} pairs of each cell, {}{} new ones of cells under suspicion", design_name(policy),
                     policy.warm_up ? "a warm-up, " : "", policy.screen_pairs, least, policy.confirm_pairs);
}

}  // namespace stepgauge::verdict
