#pragma once
// Hand-made pairs for the tests of the gate.
#include <cmath>
#include <string>
#include <vector>

#include "build_results.hpp"
#include "verdict/gate.hpp"

namespace stepgauge::testing {

inline verdict::GateLaunch ok_launch(const std::string& metric, double value) {
  verdict::GateLaunch out;
  out.metrics[metric] = {value, unit_of(metric), ""};
  return out;
}

inline verdict::GateLaunch failed_launch() {
  return {verdict::LaunchUse::failed, "crashed: signal 6", {}};
}

inline verdict::GateLaunch spoilt_launch() {
  return {verdict::LaunchUse::outside, "disturbed: other process on GPU 0", {}};
}

inline void add_try(verdict::GateCell& cell, verdict::GateStage stage, int pair, verdict::GateLaunch base,
                    verdict::GateLaunch head) {
  cell.tries.push_back({stage, pair, std::move(base), std::move(head), ""});
}

inline verdict::GateCell new_gate_cell() {
  verdict::GateCell out;
  out.base = out.head = make_cell();
  return out;
}

/// Pairs of `metric` with base at 100 and head worse by these shares (in percent, of ln values: exp(x / 100)), first
/// the screen's, then the confirmation's.
inline verdict::GateCell pairs_of(const std::string& metric, const std::vector<double>& screen,
                                  const std::vector<double>& confirm = {}) {
  auto out = new_gate_cell();
  const double sign = find_metric(metric)->better == Better::higher ? -1 : 1;
  int pair = 0;
  for (const auto* part : {&screen, &confirm}) {
    const auto stage = part == &screen ? verdict::GateStage::screen : verdict::GateStage::confirm;
    for (const double percent : *part) {
      // base varies as well, so that no row is exact
      const double base = 100 + 0.01 * (pair % 3);
      add_try(out, stage, pair++, ok_launch(metric, base), ok_launch(metric, base * std::exp(sign * percent / 100)));
    }
  }
  return out;
}

/// 5 screening and 5 confirming pairs, so that samples can be written down.
inline verdict::GatePolicy small_policy() {
  verdict::GatePolicy policy;
  policy.screen_pairs = 5;
  policy.confirm_pairs = 5;
  return policy;
}

}  // namespace stepgauge::testing
