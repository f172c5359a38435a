#pragma once
// From what a user types to results: the one way in for compare, report and baseline commands.
#include <filesystem>
#include <string>

#include "contract/result_set.hpp"

namespace stepgauge::store {

struct LoadOptions {
  std::filesystem::path baselines = "results/baselines";
  std::string slug;  ///< of the machine that "baseline:SUITE" means; empty: the only one that has the suite
};

/// `spec` is the first of these that fits: a run folder; a baseline file (.jsonl); "baseline:SUITE" or
/// "baseline:SUITE@SLUG"; "REV:PATH", a baseline file as of a git revision. BaselineMissing when a named baseline is
/// not there (naming those that are), ContractError for anything that cannot be read.
ResultSet load_result_set(const std::string& spec, const LoadOptions& options = {});

}  // namespace stepgauge::store
