#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stepgauge::stats {

struct ChangePointRule {
  std::size_t min_segment = 10;  // shortest stretch on either side of a change
  double alpha = 0.01;           // chance of a split in a series without a change, over all places
};

struct Split {
  std::size_t index;  // first value of the later part
  double p_value;     // two-sided, corrected for the choice of the place and for autocorrelation
};

// The place where one level change explains a series best, and how sure that change is.
//
// The values are replaced by their ranks, so that one outlier neither hides nor makes a change; the place is
// the split with the largest between-part sum of squares; its t is divided by sqrt(f), f = (1 + r1) / (1 -
// r1), with r1 the lag-1 autocorrelation of the residuals (each part about its own mean, corrected for the
// small-sample bias of Kendall 1954, kept within [0, 0.9]); df = n / f - 2; Bonferroni over the independent
// places, (n - 2 * min_segment + 1) / f. nullopt when the series is shorter than two segments or has no
// spread.
std::optional<Split> best_split(std::span<const double> values, std::size_t min_segment);

// All changes that binary segmentation with best_split finds at level alpha, whatever their size: ascending
// first indices of the later parts. Throws std::invalid_argument on a value that is not finite, min_segment <
// 2, or alpha outside (0, 1).
std::vector<std::size_t> find_level_changes(std::span<const double> values, const ChangePointRule& rule = {});

}  // namespace stepgauge::stats
