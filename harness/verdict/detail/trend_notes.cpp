#include "verdict/detail/trend_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace stepgauge::verdict::detail {
namespace {

std::string nights_text(std::size_t count) {
  return fmt::format("{} night{}", count, count == 1 ? "" : "s");
}

/// Days since 1970 of an ISO 8601 time; nullopt when it is none.
std::optional<int> day_of(const std::string& time) {
  int year = 0;
  unsigned month = 0, day = 0;
  if (std::sscanf(time.c_str(), "%4d-%2u-%2u", &year, &month, &day) != 3) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  return static_cast<int>(std::chrono::sys_days(date).time_since_epoch().count());
}

/// A gap is more than three times the usual distance of two nights, so that a weekly history has none either.
void note_gaps(const std::vector<TrendNight>& nights, std::vector<std::string>& out) {
  std::vector<int> apart;
  for (std::size_t i = 1; i < nights.size(); ++i) {
    const auto before = day_of(nights[i - 1].created_at), after = day_of(nights[i].created_at);
    apart.push_back(before && after ? *after - *before : 0);
  }
  if (apart.empty()) return;
  auto sorted = apart;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
  const int usual = std::max(1, sorted[sorted.size() / 2]);
  for (std::size_t i = 0; i < apart.size(); ++i) {
    if (apart[i] <= 3 * usual) continue;
    out.push_back(fmt::format("a gap of {} days: no night between {} and {}", apart[i], nights[i].created_at,
                              nights[i + 1].created_at));
  }
}

}  // namespace

std::string reason_of(const TrendRow& row, const TrendSeries& series, const TrendInput& input,
                      const TrendPolicy& policy) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
  if (row.state == TrendState::vanished) {
    const auto missing = input.nights.size() - 1 - row.last_night;
    add(fmt::format(
        "no value for {}: {}", nights_text(missing),
        series.last_outcome.empty() ? "the cell is not in the last run" : "in the last run " + series.last_outcome));
  } else if (row.state == TrendState::fresh) {
    add("the first night of this series");
  } else if (row.state == TrendState::shown) {
    add(fmt::format("only shown: {} < {}", nights_text(row.nights), policy.min_nights));
  }
  if (row.gap > 0) add(fmt::format("gap of {}", nights_text(row.gap)));
  if (row.known) {
    add(fmt::format("since {}, acknowledged by {}: {}", input.nights[row.known->night].run, row.known->by,
                    row.known->reason));
  }
  return out;
}

std::vector<std::string> trend_notes(const TrendInput& input, const Trend& trend) {
  std::vector<std::string> out;
  note_gaps(input.nights, out);
  if (!trend.machine_alarms.empty()) {
    out.push_back(fmt::format("{} of the control build, whose code is the same every night: it is the machine",
                              trend.machine_alarms.size() == 1
                                  ? std::string("1 series alarms")
                                  : fmt::format("{} series alarm", trend.machine_alarms.size())));
  }
  if (trend.counts.series > 0 && trend.counts.alarm + trend.counts.quiet == 0) {
    out.push_back("no series has the nights to be judged");
  }
  return out;
}

}  // namespace stepgauge::verdict::detail
