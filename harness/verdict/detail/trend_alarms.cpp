#include "verdict/detail/trend_alarms.hpp"

#include <algorithm>
#include <cmath>

#include "stats/autocorrelation.hpp"
#include "stats/energy_change_point.hpp"
#include "stats/summary.hpp"
#include "stats/welch.hpp"

namespace stepgauge::verdict::detail {
namespace {

constexpr double jump_sigmas = 6.0, jump_thetas = 2.0;
constexpr std::size_t jump_nights = 3;    ///< by then the CUSUM has it
constexpr std::size_t refit_nights = 5;   ///< the level is estimated anew this often
constexpr std::size_t place_nights = 50;  ///< on either side, in which a change is placed
constexpr std::size_t place_apart = 10;   ///< from where the CUSUM began to rise
constexpr std::size_t sure_nights = 5;    ///< on either side before a commit range is narrow
constexpr std::size_t recent_nights = 5;  ///< that say whether a change is over
constexpr double confidence = 0.95;
constexpr double noise_floor = 0.002;            ///< on the ratio scale
constexpr double normal_5_to_95 = 3.29;          ///< standard deviations between these quantiles
constexpr double correlation_that_counts = 0.2;  ///< lag 1

using Values = std::span<const double>;

Values part(Values values, std::size_t begin, std::size_t end) {
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
};

/// The change point nearest to where the CUSUM began to rise.
void place(Shift& shift, Values values, std::size_t begin, Scale scale) {
  const auto first = back(shift.change, place_nights, begin);
  const auto last = std::min(values.size(), shift.change + place_nights);
  const auto window = part(values, first, last);
  const double least = *std::min_element(window.begin(), window.end());
  std::vector<double> positive;  // what the search asks for; neither step moves a change point
  for (const double value : window)
    positive.push_back(scale == Scale::ratio ? std::exp(value - least) : value - least + 1);
  const auto target = shift.change;
  std::size_t nearest = place_apart + 1;
  for (const auto& found : stats::energy_changes_in_windows(positive)) {
    const auto index = first + found.index;
    const auto apart = index > target ? index - target : target - index;
    if (apart >= nearest || index > shift.raised || (found.mean_after > found.mean_before) != shift.up) continue;
    nearest = apart;
    shift.change = index;
    shift.localised = values.size() - index >= sure_nights && index - begin >= sure_nights;
  }
}

/// One-sided CUSUM (Page 1954) of nights in units of their noise, each clipped so that one night alone never alarms.
class Cusum {
 public:
  /// True when the sum has crossed the limit with this night.
  bool add(double z, std::size_t index) {
    sum_ = std::max(0.0, sum_ + std::min(z, clip) - slack);
    if (sum_ == 0) rising_from_ = index + 1;
    return sum_ > limit;
  }
  std::size_t rising_from() const { return rising_from_; }

 private:
  static constexpr double clip = 3.5, slack = 0.5, limit = 8.0;
  double sum_ = 0;
  std::size_t rising_from_ = 0;
};

/// The first alarm of the nights from `begin` on, once there are enough before it to tell their level.
std::optional<Shift> first_shift(Values values, std::size_t begin, const AlarmRule& rule) {
  const auto start = begin + rule.policy.min_nights;
  Cusum up, down;
  up.add(0, start - 1);
  down.add(0, start - 1);
  Level level;
  for (std::size_t t = start; t < values.size(); ++t) {
    if ((t - start) % refit_nights == 0) level = level_of(part(values, begin, t), rule);
    const double z = (values[t] - level.centre) / level.sigma;
    const bool rose = up.add(z, t), fell = down.add(-z, t);
    if (rose || fell) return Shift{t, (rose ? up : down).rising_from(), rose, AlarmKind::sustained, false};
  }
  return std::nullopt;
}

/// The last nights where they all lie far on one side of those before them.
std::optional<Shift> last_jump(Values values, std::size_t begin, const AlarmRule& rule) {
  std::optional<Shift> out;
  for (std::size_t nights = 1; nights <= jump_nights; ++nights) {
    if (values.size() < begin + rule.policy.min_nights + nights) break;
    const auto change = values.size() - nights;
    const auto level = level_of(part(values, begin, change), rule);
    const double limit = level.exact ? rule.theta : std::max(jump_sigmas * level.sigma, jump_thetas * rule.theta);
    const bool up = values.back() > level.centre;
    const auto beyond = [&](double value) { return (up ? value - level.centre : level.centre - value) > limit; };
    const auto last = values.subspan(change);
    if (!std::all_of(last.begin(), last.end(), beyond)) break;
    out = Shift{change, change, up, AlarmKind::jump, false};
  }
  return out;
}

TrendAlarm alarm_of(const Shift& shift, const Track& track, std::size_t begin, std::size_t end, const AlarmRule& rule) {
  const Values values(track.values);
  const auto before = part(values, back(shift.change, rule.policy.centre_nights, begin), shift.change);
  const auto after = part(values, shift.change, std::min(end, shift.change + rule.policy.centre_nights));
  TrendAlarm out;
  out.kind = shift.kind;
  out.night = track.nights[shift.raised];
  out.change = track.nights[shift.change];
  out.last_good = track.nights[shift.change - 1];
  out.first_bad = shift.localised ? out.change : out.night;
  out.localised = shift.localised;
  out.worse = shift.up == rule.higher_is_worse;
  const auto sample = stats::compare(before, after, stats::Scale::points);
  out.size = as_change(rule.scale, sample->diff);
  if (const auto interval = stats::confidence_interval(*sample, confidence)) {
    out.ci_lower = as_change(rule.scale, interval->lower);
    out.ci_upper = as_change(rule.scale, interval->upper);
  }
  const double sign = shift.up ? 1 : -1;
  out.small = sign * sample->diff < rule.theta / 2;
  const auto now = values.last(std::min(recent_nights, values.size() - shift.change));
  out.over = !out.small && sign * (*stats::median(now) - *stats::median(before)) < rule.theta / 2;
  return out;
}

}  // namespace

double as_change(Scale scale, double difference) {
  return scale == Scale::ratio ? std::expm1(difference) : difference;
}

Level level_of(Values values, const AlarmRule& rule) {
  const auto window = values.last(std::min(values.size(), rule.policy.centre_nights));
  const double floor = rule.scale == Scale::ratio ? noise_floor : std::max(rule.theta / 10, 1e-9);
  const double mad = stats::mad_to_sd * *stats::median_absolute_deviation(window);
  const double range = (*stats::quantile(window, 0.95) - *stats::quantile(window, 0.05)) / normal_5_to_95;
  Level out;
  out.centre = *stats::median(window);
  out.sigma = std::max({mad, range, floor});
  out.exact = *std::min_element(window.begin(), window.end()) == *std::max_element(window.begin(), window.end());
  if (const auto correlation = stats::autocorrelation(window);
      correlation && correlation->r1 > correlation_that_counts) {
    out.sigma *= std::sqrt(correlation->inflation);
  }
  return out;
}

std::vector<TrendAlarm> alarms_of(const Track& track, const AlarmRule& rule) {
  const Values values(track.values);
  std::vector<Shift> shifts;
  std::vector<std::size_t> begins{0};
  while (auto shift = first_shift(values, begins.back(), rule)) {
    place(*shift, values, begins.back(), rule.scale);
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
