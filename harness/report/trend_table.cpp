#include "report/trend_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "contract/plural.hpp"
#include "contract/short_commit.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/number.hpp"
#include "report/detail/table.hpp"

namespace stepgauge::report {
namespace {

using detail::Color;
using verdict::Trend;
using verdict::TrendAlarm;
using verdict::TrendRow;
using verdict::TrendState;

/// Percent for ratios, the unit itself for points.
std::string size_text(Scale scale, std::optional<double> size) {
  if (size && scale == Scale::points) *size /= 100;
  return detail::signed_percent(size);
}

std::string noise_text(const TrendRow& row) {
  auto noise = row.noise;
  if (noise && row.scale == Scale::points) *noise /= 100;
  return detail::percent(noise);
}

Color color_of(TrendState state) {
  switch (state) {
    case TrendState::alarm:
      return Color::red;
    case TrendState::quiet:
      return Color::green;
    case TrendState::vanished:
      return Color::yellow;
    default:
      return Color::dim;
  }
}

/// Blocking rows and those with news; all of them where none is blocking, as when somebody asks for such a metric.
std::vector<const TrendRow*> shown_rows(const Trend& trend) {
  const bool all = std::none_of(trend.rows.begin(), trend.rows.end(), [](const auto& row) { return row.blocking; });
  std::vector<const TrendRow*> out;
  for (const auto& row : trend.rows) {
    if (all || row.blocking || row.state == TrendState::alarm || row.crept) out.push_back(&row);
  }
  return out;
}

void add_reason(const TrendRow& row, detail::Table& table, const Style& style) {
  std::istringstream lines(detail::wrap("      " + detail::printable(row.reason), style.width, 6));
  std::string line;
  while (!row.reason.empty() && std::getline(lines, line)) table.add_line(line);
}

std::string rows_text(const Trend& trend, const Style& style) {
  const auto rows = shown_rows(trend);
  if (rows.empty()) return "";
  std::vector<detail::Column> columns{{"metric", true}, {"nights"}, {"last"}, {"centre"}, {"change %"}, {"noise %"}};
  if (trend.pin)
    columns.push_back({fmt::format("{} %", detail::shorten_middle(detail::printable(trend.pin->name), 12, 4))});
  columns.push_back({"state", true});
  detail::Table table(std::move(columns));
  std::string cell;
  for (const auto* shown : rows) {
    const auto& row = *shown;
    if (row.cell != cell) table.add_line(detail::shorten_middle(detail::printable(row.cell), style.width, 9));
    cell = row.cell;
    std::vector<std::string> texts{fmt::format("  {} {}{}", row.metric, detail::printable(row.unit),
                                               row.against_reference ? " (against control)" : ""),
                                   std::to_string(row.nights),
                                   detail::four_digits(row.last),
                                   detail::four_digits(row.centre),
                                   size_text(row.scale, row.change),
                                   noise_text(row)};
    if (trend.pin) texts.push_back(size_text(row.scale, row.creep) + (row.crept ? "!" : ""));
    texts.emplace_back(to_string(row.state));
    table.add(std::move(texts), color_of(row.state));
    add_reason(row, table, style);
  }
  return "\n" + table.text(style);
}

std::string commit_text(const std::string& commit) {
  return commit.empty() ? "an unknown commit" : short_commit(detail::printable(commit));
}

bool is_refuted(const TrendAlarm& alarm) {
  return alarm.confirmation && alarm.confirmation->verdict == ConfirmationVerdict::not_confirmed;
}

std::string verdict_of(const TrendAlarm& alarm) {
  if (alarm.machine) return "it is the machine: the control build alarms with it";
  if (alarm.over) return "over: the last nights are back";
  if (alarm.small) return "small: less than half of the tolerance";
  if (!alarm.worse) return "for the better";
  if (alarm.single) return "one night alone: run the suite again and add it";
  if (is_refuted(alarm)) return "does not block: it was not confirmed";
  return alarm.blocks ? "BLOCKS until it is acknowledged" : "advisory metric";
}

std::string interval_text(Scale scale, std::optional<double> lower, std::optional<double> upper) {
  return lower && upper ? fmt::format("{}..{}", size_text(scale, lower), size_text(scale, upper)) : "-";
}

/// What the pairs of the last good and the first bad commit said.
std::string confirmation_text(const Trend& trend, Scale scale, const verdict::TrendConfirmation& measured) {
  const auto times = measured.attempts == 1 ? "" : fmt::format(", the last of {} attempts", measured.attempts);
  auto out = fmt::format("    {} on {}{}: ", to_string(measured.verdict), measured.at.substr(0, 10), times);
  if (measured.change) {
    out += fmt::format("{} {} (95 % {}), ", size_text(scale, measured.change), scale == Scale::ratio ? "%" : "points",
                       interval_text(scale, measured.ci_lower, measured.ci_upper));
  }
  out += fmt::format("{} pairs of {} and {}", measured.pairs, commit_text(trend.nights[measured.last_good].commit),
                     commit_text(trend.nights[measured.first_bad].commit));
  return out + (measured.reason.empty() ? "" : "; " + detail::printable(measured.reason));
}

std::string alarm_text(const Trend& trend, const std::string& cell, const std::string& metric, Scale scale,
                       const TrendAlarm& alarm, const Style& style) {
  const auto& nights = trend.nights;
  const bool wide = !alarm.localised && alarm.kind == verdict::AlarmKind::sustained;
  const auto unit = scale == Scale::ratio ? " %" : " points";
  const auto interval = alarm.ci_lower && alarm.ci_upper
                            ? fmt::format(" (95 % {})", interval_text(scale, alarm.ci_lower, alarm.ci_upper))
                            : "";
  auto out = detail::paragraph(
      fmt::format("  {} {}{}{}, {} in {}", size_text(scale, alarm.size), unit + 1, interval,
                  alarm.kind == verdict::AlarmKind::jump ? ", a jump" : "", metric, detail::printable(cell)),
      style, 4);
  out += detail::paragraph(fmt::format("    {} night {} ({}), raised {}; {}", wide ? "about since" : "since",
                                       nights[alarm.change].run, nights[alarm.change].created_at.substr(0, 10),
                                       nights[alarm.night].created_at.substr(0, 10), verdict_of(alarm)),
                           style, 6);
  out += detail::paragraph(fmt::format("    commits after {} up to {}{}", commit_text(nights[alarm.last_good].commit),
                                       commit_text(nights[alarm.first_bad].commit),
                                       wide ? " (a wide range: five nights on either side make it narrow)" : ""),
                           style, 6);
  if (alarm.confirmation) out += detail::paragraph(confirmation_text(trend, scale, *alarm.confirmation), style, 6);
  return out;
}

std::string alarms_text(const Trend& trend, const Style& style) {
  std::string out;
  for (const auto& row : trend.rows) {
    for (const auto& alarm : row.alarms) {
      if (!alarm.small || row.blocking) out += alarm_text(trend, row.cell, row.metric, row.scale, alarm, style);
    }
  }
  if (!out.empty()) out = "\nAlarms:\n" + out;
  std::string machine;
  for (const auto& item : trend.machine_alarms) {
    machine += alarm_text(trend, item.cell, item.metric, item.scale, item.alarm, style);
  }
  return machine.empty() ? out : out + "\nAlarms of the control build:\n" + machine;
}

/// Of blocking metrics; of all where no row is of one.
std::vector<const verdict::SeriesChange*> shown_changes(const Trend& trend) {
  const bool all = std::none_of(trend.rows.begin(), trend.rows.end(), [](const auto& row) { return row.blocking; });
  std::vector<const verdict::SeriesChange*> out;
  for (const auto& item : *trend.changes) {
    if (all || item.blocking) out.push_back(&item);
  }
  return out;
}

std::string changes_text(const Trend& trend, const Style& style) {
  if (!trend.changes) return "";
  const auto shown = shown_changes(trend);
  const auto rest = trend.changes->size() - shown.size();
  const auto others = rest == 0 ? "" : fmt::format("; {} of advisory metrics in --json", rest);
  if (shown.empty())
    return fmt::format("\nNo change of level in the last nights of the series without an alarm{}.\n", others);
  detail::Table table(
      {{"metric", true}, {"since night", true}, {"before"}, {"after"}, {"change %"}, {"95 % interval"}});
  std::string cell;
  for (const auto* item : shown) {
    const auto& change = item->change;
    if (item->cell != cell) table.add_line(detail::shorten_middle(detail::printable(item->cell), style.width, 9));
    cell = item->cell;
    table.add({fmt::format("  {} {}", item->metric, detail::printable(item->unit)), trend.nights[change.night].run,
               detail::four_digits(change.before), detail::four_digits(change.after),
               size_text(item->scale, change.size), interval_text(item->scale, change.ci_lower, change.ci_upper)});
    table.add_line(change.localised ? fmt::format("      commits after {} up to {}",
                                                  commit_text(trend.nights[change.last_good].commit),
                                                  commit_text(trend.nights[change.night].commit))
                                    : "      commits are named with five nights on either side");
  }
  return "\n" +
         detail::paragraph(
             fmt::format("Changes of level in series without an alarm; none blocks, `history ack` takes one "
                         "off{}:",
                         others),
             style) +
         table.text(style);
}

const char* headline(ExitCode code) {
  if (code == ExitCode::regression) return "ALARM";
  return code == ExitCode::nothing_worse ? "quiet" : "NOTHING TO JUDGE";
}

std::string header_text(const Trend& trend, const Style& style) {
  std::string out = fmt::format("history of suite {} on {}: {}", detail::printable(trend.suite),
                                detail::printable(trend.machine), plural(trend.nights.size(), "night"));
  if (!trend.nights.empty()) {
    out += fmt::format(", {} to {}", trend.nights.front().created_at.substr(0, 10),
                       trend.nights.back().created_at.substr(0, 10));
  }
  out = detail::paragraph(out, style);
  const auto color = trend.exit_code == ExitCode::nothing_worse ? Color::green
                     : trend.exit_code == ExitCode::regression  ? Color::red
                                                                : Color::yellow;
  out += fmt::format("verdict: {} (exit code {})\n", detail::colored(headline(trend.exit_code), color, style),
                     static_cast<int>(trend.exit_code));
  const auto& counts = trend.counts;
  return out + detail::paragraph(
                   fmt::format("{} series: {} alarm, {} quiet, {} only shown, {} new, {} vanished", counts.series,
                               counts.alarm, counts.quiet, counts.shown, counts.fresh, counts.vanished),
                   style);
}

}  // namespace

std::string trend_table(const Trend& trend, const Style& style) {
  auto out = header_text(trend, style);
  out += rows_text(trend, style);
  out += alarms_text(trend, style);
  out += changes_text(trend, style);
  if (!trend.notes.empty()) out += "\nNotes:\n";
  for (const auto& note : trend.notes) out += detail::paragraph("  " + detail::printable(note), style, 4);
  return out;
}

}  // namespace stepgauge::report
