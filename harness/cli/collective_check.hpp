#pragma once
// What the ranks' logs of collectives say of a launch that did not end well.
#include <filesystem>
#include <string>
#include <vector>

#include "summary/launch_summary.hpp"

namespace stepgauge::cli {

/// Of a launch that hung or crashed and left such logs (names of files in `folder`): adds to its reason where the ranks
/// first differ, and all that was found as `evidence.collective_patterns`. Logs that cannot be read cost a note.
void check_collectives(const std::filesystem::path& folder, const std::vector<std::string>& logs,
                       summary::LaunchFacts& facts);

}  // namespace stepgauge::cli
