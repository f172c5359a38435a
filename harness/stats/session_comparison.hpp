#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stats/welch.hpp"

namespace stepgauge::stats {

// Launches of one new session against a baseline of K sessions, K >= 2 (statistics.md 3.6): what differs between
// sessions is in the standard error, SE^2 = sigma_S^2 (1 + sum n_i^2 / N^2) + sigma_L^2 (1 / n + 1 / N), with df = K -
// 1; sum n_i^2 / N^2 is 1 / K for sessions of one size. sigma_S and sigma_L by nested analysis of variance of the
// baseline (variance_components.hpp); where it has one launch a session the spread of those stands for sigma_S. diff is
// the mean of head less the mean of all N values. When the baseline shows no spread at all the comparison is that of
// two plain samples (welch.hpp). nullopt when head or a session is empty, for fewer than two sessions, or on the ratio
// scale when a value is <= 0. Throws std::invalid_argument on a value that is not finite.
std::optional<TwoSample> compare_to_sessions(std::span<const std::vector<double>> base_sessions,
                                             std::span<const double> head, Scale scale);

}  // namespace stepgauge::stats
