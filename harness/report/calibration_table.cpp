#include "report/calibration_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "contract/plural.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/number.hpp"
#include "report/detail/table.hpp"
#include "report/detail/verdict_words.hpp"

namespace stepgauge::report {
namespace {

using detail::change_text;
using detail::Color;
using detail::paragraph;
using verdict::Calibration;
using verdict::CalibrationCellResult;
using verdict::CalibrationContext;
using verdict::CalibrationRow;

std::string name_of(const CalibrationRow& row) {
  const bool drifts = row.drift_z.value_or(0) < verdict::drift_limit;
  return fmt::format("  {}{}{}{}", row.metric, row.unit.empty() ? "" : " ", detail::printable(row.unit),
                     drifts ? " ~" : "");
}

std::string pairs_text(const CalibrationRow& row, const CalibrationContext& context) {
  if (!row.measured) return "-";
  if (!row.needed) return fmt::format("> {}", context.wish.most_pairs);
  return fmt::format("{}+{}", row.needed->screen, row.needed->confirm);
}

std::string minutes_text(const CalibrationRow& row, const CalibrationCellResult& cell) {
  if (!row.needed || !cell.launch_s) return "-";
  const auto pairs = static_cast<double>(row.needed->screen + row.needed->confirm);
  return fmt::format("{:.1f}", pairs * 2 * *cell.launch_s / 60);
}

std::string chance_text(const std::optional<double>& chance) {
  return chance ? fmt::format("{:.0f}", std::min(100 * *chance, *chance < 1 ? 99.0 : 100.0)) : "-";
}

struct Word {
  const char* text;
  Color color;
};

Word word_of(const CalibrationRow& row) {
  if (!row.measured) return {"not measured", Color::red};
  if (row.exact) return {"exact", Color::green};
  return row.gateable ? Word{"gateable", Color::green} : Word{"not gateable", Color::yellow};
}

/// Whether the wish is met.
Word planned_word_of(const CalibrationRow& row, const CalibrationContext& context) {
  if (!row.measured) return {"not measured", Color::red};
  if (row.exact) return {"exact", Color::green};
  return is_found(row, context.wish) ? Word{"found", Color::green} : Word{"out of reach", Color::yellow};
}

void add_reason(const std::string& reason, detail::Table& table, const Style& style) {
  if (!reason.empty()) table.add_line(detail::wrap("      " + detail::printable(reason), style.width, 6));
}

/// One group a cell: its name, then `add_row` for each of its blocking rows.
template <typename AddRow>
void add_cells(const Calibration& calibration, detail::Table& table, const Style& style, const AddRow& add_row) {
  std::size_t next = 0;
  for (const auto& cell : calibration.cells) {
    table.add_line(detail::shorten_middle(detail::printable(cell.id), style.width, 9));
    if (!cell.reason.empty()) table.add_line(detail::wrap("    " + detail::printable(cell.reason), style.width, 4));
    for (; next < calibration.rows.size() && calibration.rows[next].cell == cell.id; ++next) {
      if (calibration.rows[next].blocking && cell.measured) add_row(calibration.rows[next], cell);
    }
  }
}

std::string noise_rows(const Calibration& calibration, const CalibrationContext& context, const Style& style) {
  const bool with_session = calibration.sessions > 1;
  std::vector<detail::Column> columns{{"metric", true}, {"level"}, {"sd %"}};
  if (with_session) columns.push_back({"s_S %"});
  for (const char* title : {"s_d %", "r1", "tol %", "mde %", "least %", "pairs", "min"}) columns.push_back({title});
  columns.push_back({"gate", true});
  detail::Table table(std::move(columns));
  add_cells(calibration, table, style, [&](const CalibrationRow& row, const CalibrationCellResult& cell) {
    const auto word = word_of(row);
    std::vector<std::string> texts{name_of(row), detail::four_digits(row.level),
                                   change_text(row.scale, row.between, false)};
    if (with_session) texts.push_back(change_text(row.scale, row.sigma_session, false));
    for (auto text : {change_text(row.scale, row.spread, false), row.lag1 ? fmt::format("{:.2f}", *row.lag1) : "-",
                      change_text(row.scale, row.threshold, false), change_text(row.scale, row.mde, false),
                      change_text(row.scale, row.least_tolerance, false), pairs_text(row, context),
                      minutes_text(row, cell), std::string(word.text)})
      texts.push_back(std::move(text));
    table.add(std::move(texts), word.color);
    add_reason(row.reason, table, style);
  });
  return "\n" + table.text(style);
}

std::string plan_rows(const Calibration& calibration, const CalibrationContext& context, const Style& style) {
  detail::Table table({{"metric", true},
                       {"s_d %"},
                       {"tol %"},
                       {"mde %"},
                       {"least %"},
                       {"finds %"},
                       {"pairs"},
                       {"min"},
                       {"gate", true}});
  add_cells(calibration, table, style, [&](const CalibrationRow& row, const CalibrationCellResult& cell) {
    const auto word = planned_word_of(row, context);
    table.add({name_of(row), change_text(row.scale, row.spread, false), change_text(row.scale, row.threshold, false),
               change_text(row.scale, row.mde, false), change_text(row.scale, row.least_tolerance, false),
               chance_text(row.power), pairs_text(row, context), minutes_text(row, cell), word.text},
              word.color);
    add_reason(row.reason, table, style);
  });
  return "\n" + table.text(style);
}

std::string sessions_text(const Calibration& calibration, const Style& style) {
  if (calibration.sessions == 0) return "";
  const auto first = calibration.first_measured_at.substr(0, 16), last = calibration.last_measured_at.substr(0, 16);
  return paragraph(fmt::format("{} on {}, {}", plural(calibration.sessions, "session"), plural(calibration.days, "day"),
                               first == last ? first : first + " to " + last),
                   style, 2);
}

std::string assumption_text(const CalibrationContext& context, const Style& style) {
  const auto& wish = context.wish;
  return paragraph(
      fmt::format(
          "gate of {} + {} pairs, {} under suspicion at once (Holm: alpha {:.3g}); pairs: the fewest that find a "
          "change of the tolerance with a chance of {:.0f} %, screen + confirmation",
          wish.gate.screen_pairs, wish.gate.confirm_pairs, plural(wish.family, "row"),
          wish.gate.alpha / static_cast<double>(wish.family), 100 * wish.power),
      style, 2);
}

std::string counts_text(const Calibration& calibration, const Style& style) {
  return paragraph(fmt::format("{} of {} rows in {}: {} gateable, {} not gateable, {} not measured",
                               calibration.gateable + calibration.not_gateable,
                               calibration.gateable + calibration.not_gateable + calibration.not_measured,
                               plural(calibration.cells.size(), "cell"), calibration.gateable, calibration.not_gateable,
                               calibration.not_measured),
                   style, 2);
}

std::string notes_text(const Calibration& calibration, const CalibrationContext& context, const Style& style) {
  std::string out;
  for (const auto& cell : context.skipped) {
    if (cell.status == Status::unsupported || cell.reason.find("perturbed") != std::string::npos)
      out += paragraph(fmt::format("  {}: {}: {}", detail::printable(cell.id), to_string(cell.status),
                                   detail::printable(cell.reason)),
                       style, 4);
  }
  for (const auto& note : calibration.notes) out += paragraph("  " + detail::printable(note), style, 4);
  return out.empty() ? out : "\nNotes:\n" + out;
}

std::string cost_text(const Calibration& calibration, const CalibrationContext& context, const Style& style) {
  const auto minutes = [](double seconds) { return fmt::format("{:.1f} min", seconds / 60); };
  const auto& totals = calibration.totals;
  auto out = fmt::format(
      "gate of {} + {} pairs: screen {}; with what is suspected though nothing changed {} on average; every cell "
      "confirmed {}",
      context.wish.gate.screen_pairs, context.wish.gate.confirm_pairs, minutes(totals.screen_s),
      minutes(totals.expected_s), minutes(totals.screen_s + totals.confirm_s));
  if (calibration.suggested) {
    out += fmt::format(
        "; --pairs {},{} finds a change of the tolerance in every gateable row that {} pairs can find it in",
        std::max(calibration.suggested->screen, context.wish.gate.screen_pairs),
        std::max(calibration.suggested->confirm, verdict::least_confirm_pairs), context.wish.most_pairs);
  }
  return "\n" + paragraph(out, style, 2);
}

}  // namespace

std::string calibration_table(const Calibration& calibration, const CalibrationContext& context, const Style& style) {
  std::string out = paragraph(
      fmt::format("calibration of suite {}: {}", detail::printable(context.suite), detail::printable(context.file)),
      style, 2);
  out += sessions_text(calibration, style) + counts_text(calibration, style) + assumption_text(context, style);
  if (!context.stopped.empty()) out += paragraph("ended early: " + context.stopped, style, 2);
  out += noise_rows(calibration, context, style);
  out += notes_text(calibration, context, style) + cost_text(calibration, context, style);
  return out;
}

std::string plan_table(const Calibration& calibration, const CalibrationContext& context, const Style& style) {
  std::string out = paragraph(fmt::format("plan of a gate of suite {}, from {}", detail::printable(context.suite),
                                          detail::printable(context.file)),
                              style, 2);
  out += sessions_text(calibration, style) + counts_text(calibration, style) + assumption_text(context, style);
  out += plan_rows(calibration, context, style);
  out += notes_text(calibration, context, style) + cost_text(calibration, context, style);
  return out;
}

}  // namespace stepgauge::report
