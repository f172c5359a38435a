#include "report/confirmation_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "contract/short_commit.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/table.hpp"
#include "report/detail/verdict_words.hpp"

namespace stepgauge::report {
namespace {

using detail::Color;
using detail::printable;
using verdict::MeasuredAlarm;

struct Words {
  const char* text;
  Color color;
};

Words words_of(ExitCode code) {
  switch (code) {
    case ExitCode::nothing_worse:
      return {"nothing blocks", Color::green};
    case ExitCode::regression:
      return {"CONFIRMED", Color::red};
    case ExitCode::measurement_failed:
      return {"NOT MEASURED", Color::red};
    case ExitCode::not_comparable:
      return {"NOTHING TO JUDGE", Color::yellow};
    default:
      return {"not decided", Color::yellow};
  }
}

Color color_of(ConfirmationVerdict verdict) {
  switch (verdict) {
    case ConfirmationVerdict::confirmed:
      return Color::red;
    case ConfirmationVerdict::not_confirmed:
      return Color::green;
    default:
      return Color::yellow;
  }
}

Scale scale_of(const MeasuredAlarm& item) {
  const auto* metric = find_metric(item.alarm.metric);
  return metric == nullptr ? Scale::ratio : metric->scale;
}

std::string commits_of(const MeasuredAlarm& item) {
  if (item.good.empty() || item.bad.empty()) return "commits not known";
  return fmt::format("commits after {} up to {}", short_commit(item.good), short_commit(item.bad));
}

void add_row(const MeasuredAlarm& item, detail::Table& table, const Style& style) {
  const auto scale = scale_of(item);
  const auto change = [&](std::optional<double> value) { return detail::change_text(scale, value, true); };
  const auto metric = "  " + item.alarm.metric, size = change(item.alarm.alarm_size);
  if (!item.test) {
    table.add({metric, size, "-", "-", "-", "not measured"}, Color::yellow);
    table.add_line(detail::wrap("      " + printable(item.alarm.problem), style.width, 6));
    return;
  }
  const auto& test = *item.test;
  const auto interval =
      test.ci_lower && test.ci_upper ? change(test.ci_lower) + ".." + change(test.ci_upper) : std::string("-");
  const auto verdict = verdict::confirmation_verdict(test);
  table.add({metric, size, std::to_string(test.pairs), change(test.change), interval, std::string(to_string(verdict))},
            color_of(verdict));
  if (!test.reason.empty()) table.add_line(detail::wrap("      " + printable(test.reason), style.width, 6));
}

std::string rows_text(const std::vector<MeasuredAlarm>& alarms, const Style& style) {
  if (alarms.empty()) return "\nNo alarm waits for its confirmation.\n";
  detail::Table table(
      {{"metric", true}, {"alarm %"}, {"pairs"}, {"change %"}, {"95 % interval"}, {"side by side", true}});
  std::string head;
  for (const auto& item : alarms) {
    const auto place = fmt::format("{}: {}", printable(item.alarm.cell), commits_of(item));
    if (place != head) table.add_line(detail::wrap(place, style.width, 4));
    head = place;
    add_row(item, table, style);
  }
  return "\n" + table.text(style);
}

std::size_t blocking(const verdict::Trend& trend) {
  std::size_t out = 0;
  for (const auto& row : trend.rows)
    out += static_cast<std::size_t>(
        std::count_if(row.alarms.begin(), row.alarms.end(), [](const auto& alarm) { return alarm.blocks; }));
  return out;
}

}  // namespace

std::string confirmation_table(const std::vector<MeasuredAlarm>& alarms, const verdict::Trend& left, ExitCode code,
                               const Style& style) {
  const auto words = words_of(code);
  const auto measured = std::count_if(alarms.begin(), alarms.end(), [](const auto& item) { return item.test; });
  const auto still = blocking(left);
  auto out = detail::paragraph(
      fmt::format("alarms of suite {} on {}: {} to confirm, {} measured; {} still block{}", printable(left.suite),
                  printable(left.machine), alarms.size(), measured, still, still == 1 ? "s" : ""),
      style);
  out += fmt::format("verdict: {} (exit code {})\n", detail::colored(words.text, words.color, style),
                     static_cast<int>(code));
  return out + rows_text(alarms, style);
}

}  // namespace stepgauge::report
