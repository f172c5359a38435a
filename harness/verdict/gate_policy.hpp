#pragma once
// The numbers of the gate: proposals of the design until a variance study on the machines at hand says otherwise.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stepgauge::verdict {

/// A look at the new pairs of a confirmation, once that many were made.
struct GateLook {
  std::size_t pairs = 0;
  double alpha_share = 0;  ///< of the level; 0: this look can end the confirmation, not confirm anything
};

/// As it stands here: the fixed design, one look at all confirming pairs.
struct GatePolicy {
  /// A cell is launched before its first pair, and that launch is not judged: who goes first would pay for all that the
  /// machine has not read yet (libraries, kernels, compile caches).
  bool warm_up = false;
  std::size_t screen_pairs = 5;    ///< n1, every cell
  std::size_t confirm_pairs = 15;  ///< n2, flagged cells only, on new launches; with looks: at most so many
  std::vector<GateLook> looks{};   ///< ascending, the last one at confirm_pairs; the shares add up to 1. None: one look

  double screen_alpha = 0.20;  ///< flagged: one-sided p of H0 "diff <= 0" below this ...
  double screen_share = 0.5;   ///< ... and an estimate of at least this share of the threshold
  bool screen_signs = false;   ///< ... or the same of sign test and median: one pair that is far off hides nothing

  double alpha = 0.05;           ///< confirmed: Holm over the flagged rows, family level ...
  double null_share = 0.25;      ///< ... of H0 "diff <= this share of the threshold" ...
  double estimate_share = 0.75;  ///< ... and an estimate of at least this share of the threshold

  double stop_share = 0.4;        ///< a look ends it: the estimate is below this share of the threshold, ...
  double stop_confidence = 0.85;  ///< ... or its one-sided bound of this confidence below estimate_share of it, ...
                                  ///< ... and the median of the pairs below estimate_share of it, too

  double pass_limit = 2;           ///< pass: the bound and the MDE are below this many thresholds
  double bound_confidence = 0.90;  ///< of that bound, one-sided
  double interval_confidence = 0.95;
  double power = 0.80;           ///< of the MDE
  double unstable_share = 0.5;   ///< mean and Hodges-Lehmann estimate differ by more thresholds than this: unstable
  double unstable_alpha = 0.05;  ///< t and sign-flip test disagree about this level: unstable

  double failed_share = 1.0 / 3;   ///< head fails in this share of its launches where base never does: regressed
  std::size_t least_failures = 2;  ///< ... and at least so often: one accident is no pattern
  std::size_t failure_pairs = 15;  ///< new pairs that failures are judged on; at most confirm_pairs
  std::size_t most_repeats = 3;    ///< of a pair that was spoilt from outside; then the cell is invalid
  std::uint64_t seed = 0;          ///< of the order within pairs, and of sign patterns that are drawn
};

/// Fewest confirming pairs: with fewer, no pattern of signs is rarer than unstable_alpha (1 / 2^5 = 0.031).
inline constexpr std::size_t least_confirm_pairs = 5;

/// The design that stops early and gives noisy cells more pairs: up to 30 new ones, looked at six times. Its level is
/// half of the fixed design's: early looks have wide margins of error and narrow margins of threshold, so that a false
/// block is likelier there at the same level (results/statistics).
GatePolicy sequential_policy();

/// "fixed" or "sequential".
const char* design_name(const GatePolicy& policy);

/// "sequential design: a warm-up, 5 pairs of each cell, 3 to 30 new ones of cells under suspicion".
std::string design_text(const GatePolicy& policy);

}  // namespace stepgauge::verdict
