#pragma once
#include <filesystem>

#include "contract/result_set.hpp"
#include "verdict/comparison.hpp"

namespace stepgauge::cli {

/// A run's table (or its JSON) on standard output.
void show_results(const ResultSet& results, const std::filesystem::path& folder, bool json);

/// A comparison's table (or its JSON, schema "comparison") on standard output.
void show_comparison(const verdict::Comparison& comparison, bool json);

}  // namespace stepgauge::cli
