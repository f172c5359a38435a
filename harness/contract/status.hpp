#pragma once
// The status of a launch, exactly one; and the exit codes of the CLI.
#include <optional>
#include <string_view>
#include <vector>

namespace stepgauge {

/// metrics.md: only `ok` feeds statistics.
enum class Status { ok, oom, crashed, hung, incorrect, ineffective, unsteady, disturbed, unsupported, skipped };

std::string_view to_string(Status status);
std::optional<Status> status_from_string(std::string_view text);
const std::vector<Status>& all_statuses();

/// Exit codes of every command. "Nothing was measured" or "nothing was compared" is never `nothing_worse`.
enum class ExitCode : int {
  nothing_worse = 0,
  regression = 1,
  usage = 2,
  measurement_failed = 3,
  inconclusive = 4,
  not_comparable = 5,
};

}  // namespace stepgauge
