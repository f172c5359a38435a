#pragma once
#include <functional>
#include <string>
#include <vector>

#include "contract/result_set.hpp"
#include "verdict/comparison.hpp"

namespace stepgauge::verdict {

struct Policy {
  double alpha = 0.05;  ///< chance of any false regression over all blocking rows
  double power = 0.8;   ///< for MDE and launches needed
  /// A perturbed head cell without its like in base is compared with the base cell that differs by `perturb` alone.
  bool match_perturbed = true;
  bool allow_different_machine = false;
  std::string now;  ///< UTC, ISO 8601: a baseline that expired before it is not comparable; empty: none is too old
  std::function<bool(const Cell&)> selected;  ///< empty: every cell; applied to both sides
  std::vector<std::string> metrics;           ///< empty: the whole catalogue
};

/// Judges head against base, one row per matched cell and metric (statistics.md 3.4 and 3.5 on independent launches).
///
/// The threshold is theta = ln(1 + max(tolerance, floor / base mean)) on the ratio scale, max(tolerance * |base mean|,
/// floor) on the points scale; diff is head against base for the worse, on that scale; only launches with status ok
/// feed it.
/// - regressed: Holm-adjusted one-sided Welch p of H0 "diff <= theta / 4" below alpha, and diff >= theta. Holm runs
/// over the
///   blocking rows; advisory rows are a family of their own.
/// - improved: the mirror image.
/// - pass: neither, and the one-sided 95 % upper bound of diff is below 2 theta. Otherwise inconclusive; so is fewer
/// than two
///   launches on a side.
/// - No spread on either side with two launches or more: no test, |diff| > theta decides.
/// - invalid: no ok launch in head, more failed launches than in base (row "launches"), a value <= 0 on the ratio
/// scale,
///   units that differ. Launches that were only `disturbed` make inconclusive.
/// - A stored baseline (ResultSet::sessions) of two sessions or more: what differs between sessions is in interval and
///   test (stats::compare_to_sessions). Of fewer than least_sessions sessions or least_baseline_launches launches: what
///   would be regressed is inconclusive.
/// - missing: the cell or the value is on one side only. Cells in head only are listed, and fail nothing.
///
/// Exit code, the first that holds: 5 not comparable (fingerprints differ or are missing, the baseline expired); 1 a
/// blocking row regressed; 5 a blocking row missing; 3 invalid; 4 inconclusive; 5 nothing compared; 0.
Comparison compare(const ResultSet& base, const ResultSet& head, const Policy& policy = {});

}  // namespace stepgauge::verdict
