#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "contract/record.hpp"
#include "stub_options.hpp"

namespace stepgauge::stub {

/// Modes that do not let the loop go on: sleep, hang, die, ... Returns for every other mode.
void misbehave_in_loop(const std::string& mode, const Options& options);

/// Modes that leave something running or print a lot; returns.
void misbehave_before_record(const std::string& mode, const Options& options);

/// Leaves what the mode says at `path`; the exit code of the process.
int leave_record(const std::string& mode, RankRecord record, const std::filesystem::path& path);

/// Every mode there is, for a check of the spelling.
bool is_mode(const std::string& mode);

}  // namespace stepgauge::stub
