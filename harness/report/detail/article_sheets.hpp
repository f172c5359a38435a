#pragma once
// The tables of the article's rows: its claims first, then what was measured, then both side by side.
#include <optional>
#include <string>
#include <vector>

#include "contract/result_set.hpp"
#include "report/article.hpp"
#include "report/detail/sheet.hpp"

namespace stepgauge::report::detail {

std::vector<Sheet> start_up_sheets(const ResultSet& results);                                    ///< A1
std::vector<Sheet> representation_sheets(const ResultSet& results);                              ///< A2
std::vector<Sheet> recomputation_sheets(const ResultSet& results);                               ///< A4
std::vector<Sheet> located_sheets(const ResultSet& results);                                     ///< A6
std::vector<Sheet> snapshot_sheets(const ResultSet& results, const SnapshotsByCell& snapshots);  ///< A8

std::vector<Sheet> topology_sheets(const ResultSet& results);     ///< A3
std::vector<Sheet> log_sheets(const ResultSet& results);          ///< A9
std::vector<Sheet> overlap_sheets(const ResultSet& results);      ///< A11
std::vector<Sheet> compression_sheets(const ResultSet& results);  ///< A13

/// "-74.0 %", "-" where a side is missing.
std::string change(const std::optional<double>& value, const std::optional<double>& base);

/// "Measured on ..., 2026-11-30. The article: 8 x A100 ...": why numbers differ that have nothing to do with its claim.
std::string measured_on(const ResultSet& results, const std::string& article_had);

}  // namespace stepgauge::report::detail
