#pragma once
#include <filesystem>

namespace stepgauge::launch {

/// What an engine starts on each place (`stepgauge rank-agent FOLDER`): reads engine.json, finds out which rank it is,
/// checks that worker and cell are the launcher's, meets the other ranks, runs the worker as the local launcher does,
/// and tells all of it in its agent log. Throws what keeps it from being a rank at all; everything else is told in the
/// log. `signal_fd`: readable once a signal asked it to end.
void run_rank_agent(const std::filesystem::path& folder, int signal_fd);

}  // namespace stepgauge::launch
