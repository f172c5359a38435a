#pragma once
// The arithmetic of the all-reduce sweep (docs/metrics.md, "The all-reduce sweep").
#include <cstdint>
#include <optional>
#include <vector>

#include "contract/json_io.hpp"

namespace stepgauge::worker {

/// 1 KiB, 4 KiB, ... while at most `cap`.
std::vector<std::int64_t> sweep_sizes(std::int64_t cap);

/// Largest buffer in bytes: 1 GiB on a device, 64 MiB on a CPU, at most a third of `free_mib` where that is known.
std::int64_t sweep_cap(bool on_cpu, std::optional<double> free_mib);

/// Iterations of one block so that `blocks` of them take about `budget_us`; 1 to 1000.
std::int64_t sweep_iterations(double one_us, double budget_us, int blocks);

/// What each rank sends and receives, as a share of the buffer, in an all-reduce that wastes nothing: 2 (n - 1) / n
/// (nccl-tests, doc/PERFORMANCE.md).
double bus_factor(int ranks);

/// Median and minimum over blocks of the time of one all-reduce, us. `block_us` is not empty.
struct SweepTimes {
  double median_us = 0, min_us = 0;
};
SweepTimes sweep_times(std::vector<double> block_us);

/// bytes, time_us, min_us, algbw_gbps (bytes / median time, in 1e9 bytes/s), busbw_gbps (times bus_factor), iterations.
Json sweep_point(std::int64_t bytes, int ranks, const SweepTimes& times, std::int64_t iterations);

}  // namespace stepgauge::worker
