#include "verdict/detail/trend_notes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "verdict/detail/calendar.hpp"

namespace stepgauge::verdict::detail {
namespace {

std::string nights_text(std::size_t count) {
  return fmt::format("{} night{}", count, count == 1 ? "" : "s");
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

std::string refuted_text(const TrendAlarm& alarm, const std::vector<TrendNight>& nights) {
  return fmt::format("the alarm of {} was not confirmed by {} pairs and does not block while its level stays",
                     nights[alarm.change].created_at.substr(0, 10), alarm.confirmation->pairs);
}

bool is_refuted(const TrendAlarm& alarm) {
  return !alarm.over && alarm.confirmation && alarm.confirmation->verdict == ConfirmationVerdict::not_confirmed;
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
  for (const auto& alarm : row.alarms) {
    if (is_refuted(alarm)) add(refuted_text(alarm, input.nights));
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
