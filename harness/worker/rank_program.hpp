#pragma once
// One rank of one launch, from its environment to its record.
namespace stepgauge::worker {

/// Runs the rank and writes its record. Returns the exit code: 0 when the record says ok, 1 when it says
/// something else, 2 when no record could be written. `main_entered_ns` is CLOCK_MONOTONIC at the top of
/// main(), where phase `spawn` ends.
int run_rank(long long main_entered_ns);

/// Prints, as one JSON object, what this build can do: versions and the parts that are there. For `stepgauge doctor`.
int describe_build();

}  // namespace stepgauge::worker
