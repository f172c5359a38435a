#include "cli/duration_guess.hpp"

#include <fmt/format.h>

#include "store/baseline.hpp"
#include "store/fingerprint.hpp"

namespace stepgauge::cli {
namespace {

// Without history: a CPU launch of the smoke suite took about 3 s, an H200 launch of ResNet-50 or Llama-1.1B about 20
// s.
constexpr double cpu_launch_s = 3;
constexpr double cuda_launch_s = 20;

}  // namespace

DurationGuess::DurationGuess(const Plan& plan) : source_("a guess: this machine has no baseline of the suite") {
  bool uses_gpu = false;
  for (const auto& cell : plan.cells) uses_gpu = uses_gpu || cell.device == "cuda";
  const auto slug = store::fingerprint_slug(store::fingerprint(to_json(plan.machine), uses_gpu));
  const auto path = store::find("results/baselines", slug, plan.suite.name);
  if (!path) return;
  const auto baseline = store::load(*path);
  for (const auto& cell : baseline.results.cells) {
    double sum = 0;
    for (const auto& launch : cell.launches) sum += launch.duration_s;
    if (!cell.launches.empty()) seconds_[cell.cell.id] = sum / static_cast<double>(cell.launches.size());
  }
  source_ = fmt::format("from {}", baseline.results.name);
}

double DurationGuess::launch_seconds(const Cell& cell) const {
  const auto known = seconds_.find(cell.id);
  if (known != seconds_.end()) return known->second;
  return cell.device == "cuda" ? cuda_launch_s : cpu_launch_s;
}

double DurationGuess::total_minutes(const std::vector<Cell>& cells) const {
  double seconds = 0;
  for (const auto& cell : cells) seconds += launch_seconds(cell) * cell.launches;
  return seconds / 60;
}

}  // namespace stepgauge::cli
