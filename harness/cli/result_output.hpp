#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "contract/result_set.hpp"
#include "report/style.hpp"
#include "verdict/comparison.hpp"

namespace stepgauge::cli {

/// Colours where standard output is a terminal and NO_COLOR is not set.
report::Style terminal_style();

/// A run's table (or its JSON) on standard output.
void show_results(const ResultSet& results, const std::filesystem::path& folder, bool json);

/// A comparison's table (or its JSON, schema "comparison") on standard output.
void show_comparison(const verdict::Comparison& comparison, bool json);

/// Says on standard error that no cell of the suite can run here, and why each cannot.
void tell_nothing_to_run(const std::vector<SkippedCell>& skipped, const std::string& suite_path);

}  // namespace stepgauge::cli
