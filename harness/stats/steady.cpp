#include "stats/steady.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/change_point.hpp"
#include "stats/detail/require.hpp"
#include "stats/summary.hpp"

namespace stepgauge::stats {
namespace {

constexpr ChangePointRule segment_rule{.min_segment = 10, .alpha = 0.01};
constexpr double trimmed_share = 0.1;
constexpr double slow_share = 0.05;
constexpr double slow_sds = 3.0;

struct LastLevel {
  std::size_t begin = 0;                 // within the measured steps
  std::optional<double> shift_fraction;  // of the shift at begin
};

// Joins levels from the last one backwards until one differs by more than min_shift.
LastLevel last_stable_level(std::span<const double> measured_ms, double min_shift) {
  const std::vector<std::size_t> changes = find_level_changes(measured_ms, segment_rule);
  for (std::size_t i = changes.size(); i-- > 0;) {
    const std::size_t before_begin = i == 0 ? 0 : changes[i - 1];
    const auto before = trimmed_mean(measured_ms.subspan(before_begin, changes[i] - before_begin), trimmed_share);
    const auto after = trimmed_mean(measured_ms.subspan(changes[i]), trimmed_share);
    if (*before == 0.0) continue;  // no size relative to nothing
    const double shift = *after / *before - 1.0;
    if (std::abs(shift) > min_shift) return {changes[i], shift};
  }
  return {};
}

std::size_t leading_slow_steps(std::span<const double> window_ms) {
  const auto limit_ms = slow_step_limit_ms(window_ms);
  std::size_t slow = 0;
  while (limit_ms && slow < window_ms.size() && window_ms[slow] > *limit_ms) ++slow;
  return slow;
}

void require_times(std::span<const double> step_ms) {
  detail::require_finite(step_ms);
  for (const double ms : step_ms) detail::require(ms >= 0.0, "a step time must not be negative");
}

}  // namespace

SteadyWindow find_steady_window(std::span<const double> step_ms, std::size_t measured_from, double min_shift) {
  require_times(step_ms);
  detail::require(min_shift > 0, "the smallest shift that counts must be positive");
  detail::require(measured_from <= step_ms.size(), "the measured steps begin behind the last step");
  const std::size_t first = std::min(std::max<std::size_t>(measured_from, 1), step_ms.size());
  const auto measured_ms = step_ms.subspan(first);
  SteadyWindow window{.begin = first, .end = step_ms.size()};
  if (measured_ms.empty()) {
    window.reason = "no step was measured";
    return window;
  }

  // A run too short for a segment would weigh on the first one.
  const std::size_t run = leading_slow_steps(measured_ms);
  const std::size_t left_over = run < segment_rule.min_segment ? run : 0;
  const LastLevel level = last_stable_level(measured_ms.subspan(left_over), min_shift);
  window.begin += left_over + level.begin;
  if (level.shift_fraction) window.shift = LevelShift{window.begin, 100.0 * *level.shift_fraction};
  const std::size_t slow = leading_slow_steps(step_ms.subspan(window.begin));
  window.begin += slow;

  const std::size_t stable = window.end - window.begin;
  window.steady = 2 * stable >= measured_ms.size();
  if (!window.steady && window.shift) {
    window.reason = fmt::format("the mean moved by {:+.1f} % at step {}, {} of {} steps are stable",
                                window.shift->percent, window.shift->index, stable, measured_ms.size());
  } else if (!window.steady) {
    window.reason =
        fmt::format("warm-up was not over at step {}, {} of {} steps are stable", first, stable, measured_ms.size());
  } else if (measured_ms.size() < 2 * segment_rule.min_segment) {
    window.note = fmt::format("{} measured steps are too few to look for a shift of the mean ({} are needed)",
                              measured_ms.size(), 2 * segment_rule.min_segment);
  } else if (left_over + slow > 0) {
    window.note = fmt::format("{} slow steps left over from warm-up were left out", left_over + slow);
  }
  return window;
}

std::optional<double> slow_step_limit_ms(std::span<const double> steady_ms) {
  const auto centre = median(steady_ms);
  const auto spread = median_absolute_deviation(steady_ms);
  if (!centre || !spread) return std::nullopt;
  return *centre + std::max(slow_share * *centre, slow_sds * mad_to_sd * *spread);
}

std::optional<std::size_t> last_unsettled_step(std::span<const double> step_ms, const SteadyWindow& window) {
  require_times(step_ms);
  detail::require(window.begin <= window.end && window.end <= step_ms.size(), "the window lies outside the series");
  const auto limit_ms = slow_step_limit_ms(step_ms.subspan(window.begin, window.end - window.begin));
  if (!limit_ms) return std::nullopt;
  std::size_t last = 0;
  for (std::size_t i = 0; i < window.begin; ++i) {
    if (step_ms[i] > *limit_ms) last = i;
  }
  return last;
}

}  // namespace stepgauge::stats
