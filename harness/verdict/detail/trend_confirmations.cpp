#include "verdict/detail/trend_confirmations.hpp"

#include <cmath>

namespace stepgauge::verdict::detail {
namespace {

double for_the_worse(double size, const AlarmRule& rule) {
  const double difference = rule.scale == Scale::ratio ? std::log1p(size) : size;
  return rule.higher_is_worse ? difference : -difference;
}

bool has_grown(const TrendAlarm& alarm, const TrendConfirmation& measured, const AlarmRule& rule) {
  return for_the_worse(alarm.size, rule) - for_the_worse(measured.alarm_size, rule) > rule.theta / 2;
}

}  // namespace

std::optional<TrendConfirmation> confirmation_of(const TrendAlarm& alarm,
                                                 const std::vector<TrendConfirmation>& confirmations,
                                                 const AlarmRule& rule) {
  if (!alarm.worse) return std::nullopt;
  const TrendConfirmation* latest = nullptr;
  std::size_t attempts = 0;
  for (const auto& item : confirmations) {
    if (item.last_good >= alarm.change || alarm.change > item.first_bad) continue;
    ++attempts;
    if (latest == nullptr || item.at >= latest->at) latest = &item;
  }
  const auto holds = [&] {
    return latest->verdict == ConfirmationVerdict::confirmed || !has_grown(alarm, *latest, rule);
  };
  if (latest == nullptr || !holds()) return std::nullopt;
  auto out = *latest;
  out.attempts = attempts;
  return out;
}

}  // namespace stepgauge::verdict::detail
