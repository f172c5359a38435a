#pragma once
// The numbers of the gate: proposals of the design until a variance study on the machines at hand says otherwise.
#include <cstddef>
#include <cstdint>

namespace stepgauge::verdict {

struct GatePolicy {
  std::size_t screen_pairs = 5;    ///< n1, every cell
  std::size_t confirm_pairs = 15;  ///< n2, flagged cells only, on new launches

  double screen_alpha = 0.20;  ///< flagged: one-sided p of H0 "diff <= 0" below this ...
  double screen_share = 0.5;   ///< ... and an estimate of at least this share of the threshold

  double alpha = 0.05;           ///< confirmed: Holm over the flagged rows, family level ...
  double null_share = 0.25;      ///< ... of H0 "diff <= this share of the threshold" ...
  double estimate_share = 0.75;  ///< ... and an estimate of at least this share of the threshold

  double pass_limit = 2;           ///< pass: the bound and the MDE are below this many thresholds
  double bound_confidence = 0.90;  ///< of that bound, one-sided
  double interval_confidence = 0.95;
  double power = 0.80;          ///< of the MDE
  double unstable_share = 0.5;  ///< mean and Hodges-Lehmann estimate differ by more thresholds than this: unstable

  double failed_share = 1.0 / 3;   ///< head fails in this share of its launches where base never does: regressed
  std::size_t least_failures = 2;  ///< ... and at least so often: one accident is no pattern
  std::size_t most_repeats = 3;    ///< of a pair that was spoilt from outside; then the cell is invalid
  std::uint64_t seed = 0;          ///< of the order within pairs, and of sign patterns that are drawn
};

/// Fewest confirming pairs: with fewer, no pattern of signs is rarer than alpha (1 / 2^5 = 0.031).
inline constexpr std::size_t least_confirm_pairs = 5;

}  // namespace stepgauge::verdict
