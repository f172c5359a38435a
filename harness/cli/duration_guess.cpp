#include "cli/duration_guess.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/compile_caches.hpp"
#include "store/baseline.hpp"
#include "store/calibration_file.hpp"
#include "store/fingerprint.hpp"

namespace stepgauge::cli {
namespace {

// Without history: a CPU launch of the smoke suite took about 3 s, an H200 launch of ResNet-50 or Llama-1.1B about 20
// s.
constexpr double cpu_launch_s = 3;
constexpr double cuda_launch_s = 20;

/// What starting a mode adds to a launch, in seconds. On one H200 the first step of ResNet-50 took 44 s with
/// compile.default; the others are set beside it. On a CPU: small models, of which the C++ compiler takes most.
struct Start {
  const char* mode;
  double cuda_cold_s, cuda_warm_s, cpu_cold_s, cpu_warm_s;
};

constexpr std::array<Start, 9> starts{{{"torchscript", 10, 10, 3, 3},
                                       {"cuda_graph", 3, 3, 0, 0},
                                       {"cuda_graph.forward_backward", 3, 3, 0, 0},
                                       {"python_eager", 10, 10, 5, 5},
                                       {"compile.default", 50, 25, 45, 15},
                                       {"compile.reduce-overhead", 55, 30, 45, 15},
                                       {"compile.max-autotune", 240, 60, 45, 15},
                                       {"compile.max-autotune-no-cudagraphs", 240, 60, 45, 15},
                                       {"compile.export", 60, 30, 45, 15}}};

double start_seconds(const Cell& cell, bool warm) {
  const auto found =
      std::find_if(starts.begin(), starts.end(), [&](const Start& start) { return cell.compile == start.mode; });
  if (found == starts.end()) return 0;
  if (cell.device == "cuda") return warm ? found->cuda_warm_s : found->cuda_cold_s;
  return warm ? found->cpu_warm_s : found->cpu_cold_s;
}

double device_seconds(const Cell& cell) {
  return cell.device == "cuda" ? cuda_launch_s : cpu_launch_s;
}

}  // namespace

DurationGuess::DurationGuess(const Plan& plan, const std::filesystem::path& baselines)
    : source_("a guess: this machine has no baseline of the suite") {
  bool uses_gpu = false, compiles = false;
  std::set<std::string> cold;
  for (const auto& cell : plan.cells) {
    if (cell.cache == "cold") cold.insert(but_for_its_cache(cell));
  }
  for (const auto& cell : plan.cells) {
    uses_gpu = uses_gpu || cell.device == "cuda";
    compiles = compiles || start_seconds(cell, false) > 0;
    if (cell.cache == "warm" && cold.count(but_for_its_cache(cell)) == 0) filled_apart_.insert(cell.id);
  }
  if (compiles) source_ += "; by device, and by what each compile mode takes to start, cold or warm";
  const auto fingerprint = store::fingerprint(to_json(plan.machine), uses_gpu);
  try {
    const auto path = store::find(baselines, store::fingerprint_slug(fingerprint), plan.suite.name);
    if (path) read_baseline(*path);
    const auto sessions = store::find_calibrations(fingerprint, plan.suite.name, baselines);
    if (!sessions.empty()) read_calibrations(sessions);
  } catch (const ContractError& error) {
    // A guess stops nothing: who needs the file says what is wrong with it.
    source_ += fmt::format("; unreadable: {}", error.what());
  }
}

void DurationGuess::read_baseline(const std::filesystem::path& path) {
  const auto baseline = store::load(path);
  for (const auto& cell : baseline.results.cells) {
    double sum = 0;
    for (const auto& launch : cell.launches) sum += launch.duration_s;
    if (!cell.launches.empty()) seconds_[cell.cell.id] = sum / static_cast<double>(cell.launches.size());
  }
  source_ = fmt::format("from {}", baseline.results.name);
}

/// The newest session of a cell counts.
void DurationGuess::read_calibrations(const std::vector<CalibrationSession>& sessions) {
  for (const auto& session : sessions) {
    for (const auto& cell : session.cells) {
      double sum = 0;
      for (const auto& launch : cell.launches) sum += launch.duration_s;
      if (!cell.launches.empty()) seconds_[cell.id] = sum / static_cast<double>(cell.launches.size());
    }
  }
  source_ = fmt::format("from the calibration of {}", sessions.back().measured_at.substr(0, 10));
}

double DurationGuess::launch_seconds(const Cell& cell) const {
  const auto known = seconds_.find(cell.id);
  if (known != seconds_.end()) return known->second;
  return device_seconds(cell) + start_seconds(cell, cell.cache == "warm");
}

double DurationGuess::cell_seconds(const Cell& cell) const {
  const double filling_s = filled_apart_.count(cell.id) > 0 ? device_seconds(cell) + start_seconds(cell, false) : 0;
  return launch_seconds(cell) * cell.launches + filling_s;
}

double DurationGuess::total_minutes(const std::vector<Cell>& cells) const {
  double seconds = 0;
  for (const auto& cell : cells) seconds += cell_seconds(cell);
  return seconds / 60;
}

std::string duration_text(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace stepgauge::cli
