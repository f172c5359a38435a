#include "report/why_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "contract/plural.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/number.hpp"
#include "report/detail/table.hpp"
#include "report/detail/verdict_words.hpp"
#include "trace/labels.hpp"

namespace stepgauge::report {
namespace {

using detail::four_digits;
using detail::paragraph;
using detail::printable;
using detail::signed_digits;
using verdict::Why;
using verdict::WhyKind;
using verdict::WhyLine;
using verdict::WhyPart;
using verdict::WhyRow;

constexpr std::size_t name_columns = 48;

const char* title_of(WhyKind kind) {
  switch (kind) {
    case WhyKind::settings:
      return "settings, software, variables";
    case WhyKind::failures:
      return "launches that failed";
    case WhyKind::phases:
      return "where the time went";
    case WhyKind::kernels:
      return "work of a traced step";
    case WhyKind::collectives:
      return "collectives";
    case WhyKind::memory:
      return "memory by phase";
    default:
      return "compiling";
  }
}

std::string text_lines(const std::vector<WhyLine>& lines, std::size_t top, std::size_t indent, const Style& style) {
  std::string out;
  std::size_t shown = 0;
  for (const auto& line : lines) {
    if (!line.unit.empty() || shown == top) continue;
    ++shown;
    out += paragraph(fmt::format("{}{}: {} -> {}", std::string(indent, ' '), printable(line.name),
                                 printable(line.base_text), printable(line.head_text)),
                     style, indent + 2);
  }
  return out;
}

std::string name_of(WhyKind kind, const WhyLine& line) {
  // Kernels have names of a few hundred characters.
  const auto text = kind == WhyKind::kernels ? trace::short_name(trace::ActivityKind::kernel, line.name) : line.name;
  return "    " + detail::shorten_middle(printable(text), name_columns, 12);
}

std::string number_lines(const WhyPart& part, std::size_t top, const Style& style) {
  const bool shares = std::any_of(part.lines.begin(), part.lines.end(), [](const auto& line) { return line.share; });
  std::vector<detail::Column> columns{{"    ", true}, {"base"}, {"head"}, {"change"}, {"", true}};
  if (shares) columns.push_back({"share %"});
  const bool kernels = part.kind == WhyKind::kernels;
  if (kernels) columns.push_back({"how", true});
  detail::Table table(columns);
  std::size_t shown = 0;
  for (const auto& line : part.lines) {
    if (line.unit.empty() || shown == top) continue;
    ++shown;
    std::vector<std::string> texts{name_of(part.kind, line), four_digits(line.base), four_digits(line.head),
                                   signed_digits(line.head.value_or(0) - line.base.value_or(0)), line.unit};
    if (shares) texts.push_back(line.share ? detail::signed_percent(*line.share) : "-");
    if (kernels) texts.push_back(printable(line.how));
    table.add(std::move(texts));
    if (kernels && !line.note.empty()) table.add_line(detail::wrap("      " + printable(line.note), style.width, 6));
  }
  return shown == 0 ? "" : table.text(style);
}

std::string part_text(const WhyPart& part, std::size_t top, const Style& style) {
  std::string out = fmt::format("  {}", title_of(part.kind));
  if (part.lines.empty() && !part.absent.empty()) return paragraph(out + ": " + printable(part.absent), style, 4);
  if (part.lines.empty())
    return paragraph(out + ": the same in both arms" + (part.notes.empty() ? "" : ", " + printable(part.notes.front())),
                     style, 4);
  out += ":\n" + text_lines(part.lines, top, 4, style) + number_lines(part, top, style);
  const auto texts = static_cast<std::size_t>(
      std::count_if(part.lines.begin(), part.lines.end(), [](const auto& line) { return line.unit.empty(); }));
  const auto left = std::max(texts, top) - top + std::max(part.lines.size() - texts, top) - top;
  if (left > 0) out += fmt::format("    and {} more (--top)\n", left);
  if (!part.absent.empty()) out += paragraph("    " + printable(part.absent), style, 4);
  for (const auto& note : part.notes) out += paragraph("    " + printable(note), style, 4);
  return out;
}

/// `again`: the row before is of the same cell.
std::string row_text(const WhyRow& why, bool again, std::size_t top, const Style& style) {
  const auto& row = why.row;
  std::string out = "\n";
  if (!again) out += detail::shorten_middle(printable(row.cell), style.width, 9) + "\n";
  if (!again && row.base_cell != row.cell)
    out += detail::shorten_middle("  base: " + printable(row.base_cell), style.width, 9) + "\n";
  auto head = fmt::format("{}: {}", printable(row.metric), to_string(row.verdict));
  if (row.change) {
    head += fmt::format(", {} -> {} {} ({}{}{})", four_digits(row.base), four_digits(row.head), printable(row.unit),
                        detail::change_text(row.scale, row.change, true), row.scale == Scale::ratio ? " %" : " points",
                        row.ci_lower && row.ci_upper
                            ? fmt::format(", 95 % interval {}..{}", detail::change_text(row.scale, row.ci_lower, true),
                                          detail::change_text(row.scale, row.ci_upper, true))
                            : "");
  }
  if (!row.reason.empty()) head += "; " + printable(row.reason);
  out += paragraph(head, style, 2);
  for (const auto& part : why.parts) {
    const bool told = again && part.kind == WhyKind::settings && !part.lines.empty();
    out += told ? fmt::format("  {}: as above\n", title_of(part.kind)) : part_text(part, top, style);
  }
  return out;
}

std::string verdict_text(const Why& why, const Style& style) {
  if (!why.refusal.empty())
    return detail::colored("nothing to compare: ", detail::Color::red, style) +
           paragraph(printable(why.refusal), style, 2);
  auto out =
      fmt::format("{} compared, {} worse, {} inconclusive", plural(why.compared, "row"), why.worse, why.undecided);
  if (why.worse == 0)
    return detail::colored("nothing worse: ", detail::Color::green, style) + out + ": nothing to explain" +
           (why.undecided > 0 && why.rows.empty() ? " (--all explains inconclusive rows)" : "") + "\n";
  return out + "\n";
}

}  // namespace

std::string why_table(const Why& why, std::size_t top, const Style& style) {
  auto out = paragraph(fmt::format("why, suite {}: base {}, head {}", printable(why.suite), printable(why.base_name),
                                   printable(why.head_name)),
                       style) +
             verdict_text(why, style);
  if (!why.patterns.empty()) out += "\nOver the matrix:\n";
  for (const auto& pattern : why.patterns) out += paragraph("  " + printable(pattern.text()), style, 4);
  if (!why.everywhere.empty() && !why.rows.empty()) {
    out += "\nWhat differs in every cell (base -> head):\n" + text_lines(why.everywhere, top, 2, style);
    if (why.everywhere.size() > top) out += fmt::format("  and {} more (--top)\n", why.everywhere.size() - top);
  }
  for (std::size_t i = 0; i < why.rows.size(); ++i)
    out += row_text(why.rows[i], i > 0 && why.rows[i - 1].row.cell == why.rows[i].row.cell, top, style);
  if (!why.notes.empty()) out += "\nNotes:\n";
  for (const auto& note : why.notes) out += paragraph("  " + printable(note), style, 4);
  return out;
}

}  // namespace stepgauge::report
