#pragma once
#include <filesystem>
#include <vector>

#include "store/run_folder.hpp"

namespace stepgauge::store {

/// Makes the run `out` of all cells, launches and launch folders of `runs`: what the parts of a suite (--shard) that
/// ran as jobs of their own come to. RunConflict when `out` holds a run already, when two of them are of another suite
/// or machine, or when they hold different records of one launch; ContractError and std::system_error as
/// RunFolder::open and create. Nothing is made unless all of them fit.
RunFolder merge_runs(const std::filesystem::path& out, const std::vector<std::filesystem::path>& runs);

}  // namespace stepgauge::store
