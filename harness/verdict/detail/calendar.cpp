#include "verdict/detail/calendar.hpp"

#include <chrono>
#include <cstdio>

namespace stepgauge::verdict::detail {
namespace {

std::chrono::sys_days monday_of(int day) {
  const std::chrono::sys_days date{std::chrono::days(day)};
  return date - (std::chrono::weekday(date) - std::chrono::Monday);
}

}  // namespace

std::optional<int> day_of(const std::string& time) {
  int year = 0;
  unsigned month = 0, day = 0;
  if (std::sscanf(time.c_str(), "%4d-%2u-%2u", &year, &month, &day) != 3) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  return static_cast<int>(std::chrono::sys_days(date).time_since_epoch().count());
}

bool in_different_weeks(const std::string& before, const std::string& after) {
  const auto first = day_of(before), second = day_of(after);
  return first && second && monday_of(*first) != monday_of(*second);
}

}  // namespace stepgauge::verdict::detail
