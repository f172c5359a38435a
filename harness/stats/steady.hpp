#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace stepgauge::stats {

// A change of level inside the measured steps.
struct LevelShift {
  std::size_t index;  // first step of the later level, counted in the whole series
  double percent;     // later level / earlier level - 1, in %
};

// Steps [begin, end) of a launch that feed its numbers; indices into the whole series of step times.
struct SteadyWindow {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool steady = false;                // the window holds at least half of the measured steps
  std::optional<LevelShift> shift{};  // the last shift over 2 %, also when the window after it is long enough
  std::string reason{};               // why not steady; empty when steady
  std::string note{};                 // what a reader should know of a steady window; may be empty
};

// Steady window of one launch (statistics.md 3.1). step_ms holds every step of the launch, the first one at
// index 0. Steps before measured_from (first step and the worker's settled warm-up), and always the first
// step, never count. In the measured rest find_level_changes (change_point.hpp, segments of at least 10
// steps) marks the levels. The window is the last level, joined with the levels before it while those lie
// within 2 % of it; the size is taken between means without the highest and lowest tenth. A leading run of
// steps slower than slow_step_limit_ms is left-over warm-up and is dropped. Fewer than 20 measured steps: no
// change-point pass, steady, with a note. Throws std::invalid_argument on a negative or not finite time and
// on measured_from > step_ms.size().
// min_shift: the relative shift of the mean that counts, 2 % unless the metric's tolerance is far wider.
SteadyWindow find_steady_window(std::span<const double> step_ms, std::size_t measured_from, double min_shift = 0.02);

// A step above this time is not settled: steady median + max(5 %, 3 * 1.4826 * MAD). nullopt for no steady
// steps.
std::optional<double> slow_step_limit_ms(std::span<const double> steady_ms);

// Index of the last unsettled step; its end is the end of time_to_steady. Of the steps before the window the
// last one above slow_step_limit_ms of the window, at least the first step; a slow step inside the window is
// noise, not warm-up. nullopt when the window is empty.
std::optional<std::size_t> last_unsettled_step(std::span<const double> step_ms, const SteadyWindow& window);

}  // namespace stepgauge::stats
