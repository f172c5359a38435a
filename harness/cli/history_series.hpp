#pragma once
// From the lines of a history to the series that are judged; globs are resolved here. A glob names a series by
// "CELL:METRIC" or by the cell's id alone, each with or without "-HASH" at the id's end.
#include <cstddef>
#include <string>
#include <vector>

#include "store/history_file.hpp"
#include "verdict/trend.hpp"

namespace stepgauge::cli {

struct SeriesChoice {
  std::vector<std::string> only;  ///< globs; empty: all
  std::string metric;             ///< empty: all that have a direction
};

/// How many series of the history the glob names. ConfigError when none, naming the option and the nearest series.
std::size_t count_series(const store::History& history, const std::string& glob, const std::string& option);

/// ConfigError for a glob of `only` that names no series of any of the histories.
void require_matches(const std::vector<store::History>& histories, const SeriesChoice& choice);

/// Everything that the trend of one history rests on. No error when nothing is chosen.
verdict::TrendInput trend_input(const store::History& history, const SeriesChoice& choice);

}  // namespace stepgauge::cli
