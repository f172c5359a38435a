#include "worker/parallel/sweep_point.hpp"

#include <algorithm>

#include "contract/median.hpp"

namespace stepgauge::worker {

std::vector<std::int64_t> sweep_sizes(std::int64_t cap) {
  std::vector<std::int64_t> out;
  for (std::int64_t bytes = 1 << 10; bytes <= cap; bytes *= 4) out.push_back(bytes);
  return out;
}

std::int64_t sweep_cap(bool on_cpu, std::optional<double> free_mib) {
  const std::int64_t most = on_cpu ? std::int64_t{64} << 20 : std::int64_t{1} << 30;
  if (!free_mib) return most;
  return std::min(most, static_cast<std::int64_t>(*free_mib / 3 * (1 << 20)));
}

std::int64_t sweep_iterations(double one_us, double budget_us, int blocks) {
  if (one_us <= 0) return 1000;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(budget_us / blocks / one_us), 1, 1000);
}

double bus_factor(int ranks) {
  return 2.0 * (ranks - 1) / ranks;
}

SweepTimes sweep_times(std::vector<double> block_us) {
  const auto least = *std::min_element(block_us.begin(), block_us.end());
  return {median(std::move(block_us)), least};
}

Json sweep_point(std::int64_t bytes, int ranks, const SweepTimes& times, std::int64_t iterations) {
  const auto algorithm = static_cast<double>(bytes) / times.median_us / 1e3;
  return {{"bytes", bytes},
          {"time_us", times.median_us},
          {"min_us", times.min_us},
          {"algbw_gbps", algorithm},
          {"busbw_gbps", algorithm * bus_factor(ranks)},
          {"iterations", iterations}};
}

}  // namespace stepgauge::worker
