#include "verdict/detail/trend_alarms.hpp"

#include <algorithm>
#include <cmath>

#include "stats/cusum.hpp"
#include "stats/summary.hpp"

namespace stepgauge::verdict::detail {
namespace {

constexpr double jump_sigmas = 6.0, jump_thetas = 2.0;
constexpr std::size_t jump_nights = 3;     ///< by then the CUSUM has it
constexpr std::size_t look_every = 5;      ///< nights, of those long past
constexpr std::size_t look_back = 20;      ///< nights before a look that it may alarm about
constexpr std::size_t place_nights = 50;   ///< on either side, in which a change is placed
constexpr std::size_t place_apart = 10;    ///< from where the CUSUM began to rise
constexpr std::size_t recent_nights = 5;   ///< that say whether a change is over
constexpr double hidden_ratio = 2.0;       ///< noise of a window over that from one night to the next
constexpr std::size_t hidden_nights = 10;  ///< on either side of a change that the noise has hidden
constexpr double hidden_sigmas = 3.0;      ///< of the noisier side, that it has to measure
constexpr double ratio_floor = 0.002;      ///< of the noise
constexpr double least_floor = 1e-9;       ///< of the noise in points, where nothing is tolerated

using Nights = std::span<const double>;

Nights part(Nights values, std::size_t begin, std::size_t end) {
  return values.subspan(begin, end - begin);
}

std::size_t back(std::size_t from, std::size_t by, std::size_t least) {
  return from > least + by ? from - by : least;
}

/// An alarm in a track: indices into its values.
struct Shift {
  std::size_t raised = 0, change = 0;
  bool up = false;
  AlarmKind kind = AlarmKind::sustained;
  bool localised = false;
  bool single = false;
};

/// One window over all: the halves of two that overlap can disagree about a change near their ends.
std::vector<stats::EnergyChange> changes_in(Nights window, Scale scale) {
  return change_points(window, scale, {.window = window.size()});
}

/// The change point nearest to where the CUSUM began to rise.
void place(Shift& shift, Nights values, std::size_t begin, Scale scale) {
  const auto first = back(shift.change, place_nights, begin);
  const auto last = std::min(values.size(), shift.change + place_nights);
  const auto target = shift.change;
  std::size_t nearest = place_apart + 1;
  for (const auto& found : changes_in(part(values, first, last), scale)) {
    const auto index = first + found.index;
    const auto apart = nights_apart(index, target);
    if (apart >= nearest || index > shift.raised || (found.mean_after > found.mean_before) != shift.up) continue;
    nearest = apart;
    shift.change = index;
    shift.localised = values.size() - index >= sure_nights && index - begin >= sure_nights;
  }
}

stats::CusumRule cusum_rule(const AlarmRule& rule) {
  stats::CusumRule out;
  out.floor = rule.scale == Scale::ratio ? ratio_floor : std::max(rule.theta / 10, least_floor);
  out.model_nights = rule.policy.centre_nights;
  out.alarm_nights = rule.policy.min_nights;
  return out;
}

/// Robust against a few changes of level.
double night_to_night(Nights values) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < values.size(); ++i) steps.push_back(std::abs(values[i] - values[i - 1]));
  return 1.4826 * *stats::median(steps) / std::sqrt(2.0);
}

/// Two levels in the first nights of a segment look like one that is noisy, in which no sum ever rises. What gives them
/// away: far less noise from one night to the next, and a change point with little noise on either side of it.
std::optional<Shift> hidden_shift(Nights values, std::size_t first, std::size_t end, double sigma,
                                  const AlarmRule& rule) {
  const auto window = part(values, first, end);
  if (sigma < hidden_ratio * night_to_night(window)) return std::nullopt;
  for (const auto& found : changes_in(window, rule.scale)) {
    if (found.index - found.begin < hidden_nights || found.end - found.index < hidden_nights) continue;
    const auto before = level_of(part(window, found.begin, found.index), rule);
    const auto after = level_of(part(window, found.index, found.end), rule);
    if (std::abs(after.centre - before.centre) < hidden_sigmas * std::max(*before.sigma, *after.sigma)) continue;
    const auto change = first + found.index;
    return Shift{end - 1, change, after.centre > before.centre, AlarmKind::sustained, true, false};
  }
  return std::nullopt;
}

/// The first alarm of the nights from `begin` on.
std::optional<Shift> first_shift(Nights values, std::size_t begin, const AlarmRule& rule) {
  const auto nights = rule.policy.centre_nights;
  const auto settings = cusum_rule(rule);
  for (std::size_t end = begin + rule.policy.min_nights; end <= values.size(); ++end) {
    if ((end - begin) % look_every != 0 && end + nights < values.size()) continue;
    const auto first = back(end, nights, begin);
    const auto seen = stats::cusum(part(values, first, end), {}, settings);
    // Alarms about nights long past come from a centre that has moved on.
    for (const auto& alarm : seen->alarms) {
      if (first + alarm.night + look_back < end || alarm.start == 0) continue;
      return Shift{first + alarm.night, first + alarm.start, alarm.upward, AlarmKind::sustained, false, false};
    }
    if (const auto hidden = hidden_shift(values, first, end, seen->model.sigma, rule)) return hidden;
  }
  return std::nullopt;
}

/// The last nights where they all lie far on one side of those before them.
std::optional<Shift> last_jump(Nights values, std::size_t begin, const AlarmRule& rule) {
  std::optional<Shift> out;
  for (std::size_t nights = 1; nights <= jump_nights; ++nights) {
    if (values.size() < begin + rule.policy.min_nights + nights) break;
    const auto change = values.size() - nights;
    const auto level = level_of(part(values, begin, change), rule);
    const double limit = level.exact ? rule.theta : std::max(jump_sigmas * *level.sigma, jump_thetas * rule.theta);
    const bool up = values.back() > level.centre;
    const auto beyond = [&](double value) { return (up ? value - level.centre : level.centre - value) > limit; };
    const auto last = values.subspan(change);
    if (!std::all_of(last.begin(), last.end(), beyond)) break;
    out = Shift{change, change, up, AlarmKind::jump, false, nights == 1 && !level.exact};
  }
  return out;
}

TrendAlarm alarm_of(const Shift& shift, const Track& track, std::size_t begin, std::size_t end, const AlarmRule& rule) {
  const Nights values(track.values);
  const auto before = part(values, back(shift.change, rule.policy.centre_nights, begin), shift.change);
  const auto after = part(values, shift.change, std::min(end, shift.change + rule.policy.centre_nights));
  TrendAlarm out;
  out.kind = shift.kind;
  out.night = track.nights[shift.raised];
  out.change = track.nights[shift.change];
  out.last_good = track.nights[shift.change - 1];
  out.first_bad = shift.localised ? out.change : out.night;
  out.localised = shift.localised;
  out.single = shift.single;
  out.worse = shift.up == rule.higher_is_worse;
  const auto step = step_between(before, after, rule.scale);
  out.size = step.size;
  out.ci_lower = step.ci_lower;
  out.ci_upper = step.ci_upper;
  const double sign = shift.up ? 1 : -1;
  out.small = sign * step.difference < rule.theta / 2;
  const auto now = values.last(std::min(recent_nights, values.size() - shift.change));
  const double left = sign * (*stats::median(now) - *stats::median(before));
  out.over = !out.small && left < std::min(rule.theta, sign * step.difference) / 2;
  return out;
}

}  // namespace

Level level_of(Nights values, const AlarmRule& rule) {
  const auto window = values.last(std::min(values.size(), rule.policy.centre_nights));
  Level out;
  out.centre = *stats::median(window);
  if (const auto seen = stats::cusum(window, {}, cusum_rule(rule))) {
    out.centre = seen->model.centre;
    out.sigma = seen->model.sigma;
  }
  const auto [least, most] = std::minmax_element(window.begin(), window.end());
  out.exact = *least == *most;
  return out;
}

std::vector<TrendAlarm> alarms_of(const Track& track, const AlarmRule& rule) {
  const Nights values(track.values);
  std::vector<Shift> shifts;
  std::vector<std::size_t> begins{0};
  while (auto shift = first_shift(values, begins.back(), rule)) {
    if (!shift->localised) place(*shift, values, begins.back(), rule.scale);
    shifts.push_back(*shift);
    begins.push_back(shift->change);
  }
  if (const auto jump = last_jump(values, begins.back(), rule)) {
    shifts.push_back(*jump);
    begins.push_back(jump->change);
  }
  std::vector<TrendAlarm> out;
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    const auto end = i + 1 < shifts.size() ? shifts[i + 1].change : values.size();
    out.push_back(alarm_of(shifts[i], track, begins[i], end, rule));
  }
  return out;
}

}  // namespace stepgauge::verdict::detail
