#pragma once
// This very program as a child: what a user would see of a command, exit code and all.
#include <filesystem>
#include <string>
#include <vector>

#include "cli/interrupt.hpp"

namespace stepgauge::cli {

struct SelfCommand {
  int exit_code = -1;  ///< -1: a signal ended it
  double seconds = 0;
};

/// Runs `stepgauge ARGUMENTS...` and waits for it. Its standard output goes to the file `out`, its standard error too
/// where `quiet`, else to ours. An interrupt is passed on, and the child ends in its own order; it does not outlive
/// this process. Throws std::system_error when it cannot be started.
SelfCommand run_self(const std::vector<std::string>& arguments, const std::filesystem::path& out, bool quiet,
                     const InterruptWatch& interrupt);

/// Path of this program.
std::filesystem::path self_path();

}  // namespace stepgauge::cli
