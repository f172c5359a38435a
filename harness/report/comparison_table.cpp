#include "report/comparison_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "contract/plural.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/number.hpp"
#include "report/detail/table.hpp"
#include "report/detail/verdict_words.hpp"

namespace stepgauge::report {
namespace {

using detail::change_text;
using detail::color_of;
using detail::headline;
using detail::interval_text;
using verdict::Comparison;
using verdict::Row;
using verdict::Verdict;

std::vector<std::string> texts_of(const Row& row) {
  return {row.unit.empty() ? row.metric : fmt::format("{} {}", row.metric, detail::printable(row.unit)),
          detail::four_digits(row.base.mean),
          detail::four_digits(row.head.mean),
          change_text(row.scale, row.change, true),
          interval_text(row),
          row.threshold ? change_text(row.scale, row.threshold, false) : "-",
          change_text(row.scale, row.mde, false),
          fmt::format("{}/{}", row.base.n, row.head.n),
          std::string(to_string(row.verdict))};
}

detail::Table new_table() {
  return detail::Table({{"metric", true},
                        {"base"},
                        {"head"},
                        {"change %"},
                        {"95 % interval"},
                        {"tol %"},
                        {"mde %"},
                        {"n"},
                        {"verdict", true}});
}

std::string cell_line(const Row& row, const Style& style) {
  auto line = detail::printable(row.cell);
  if (row.perturbed) line = "* " + line;
  return detail::shorten_middle(line, style.width, 9);
}

/// True when the rows say one thing without numbers: then one line is enough.
bool one_line(std::span<const Row* const> rows) {
  return rows.size() > 1 && std::all_of(rows.begin(), rows.end(), [&](const Row* row) {
           return !row->change && row->verdict == rows.front()->verdict && row->reason == rows.front()->reason;
         });
}

void add_cell(std::span<const Row* const> rows, detail::Table& table, const Style& style) {
  table.add_line(cell_line(*rows.front(), style));
  if (!rows.front()->base_cell.empty()) {
    table.add_line("    base: " + detail::printable(rows.front()->base_cell));
  }
  const auto reason_line = [&](const Row& row) {
    if (!row.reason.empty()) table.add_line(detail::wrap("      " + detail::printable(row.reason), style.width, 6));
  };
  if (one_line(rows)) {
    const auto& row = *rows.front();
    table.add({fmt::format("  all {} metrics", rows.size()), "-", "-", "-", "-", "-", "-",
               fmt::format("{}/{}", row.base.n, row.head.n), std::string(to_string(row.verdict))},
              color_of(row.verdict));
    reason_line(row);
    return;
  }
  for (const auto* row : rows) {
    auto texts = texts_of(*row);
    texts[0] = "  " + texts[0];
    table.add(std::move(texts), color_of(row->verdict));
    reason_line(*row);
  }
}

std::string rows_text(const Comparison& comparison, const Style& style) {
  std::vector<const Row*> blocking;
  bool perturbed = false;
  for (const auto& row : comparison.rows) {
    if (row.blocking) blocking.push_back(&row);
    perturbed = perturbed || row.perturbed;
  }
  if (blocking.empty()) return "";
  auto table = new_table();
  for (std::size_t begin = 0; begin < blocking.size();) {
    std::size_t end = begin;
    while (end < blocking.size() && blocking[end]->cell == blocking[begin]->cell) ++end;
    add_cell(std::span(blocking).subspan(begin, end - begin), table, style);
    begin = end;
  }
  auto out = "\n" + table.text(style);
  if (perturbed) out += "* PERTURBED: slowed on purpose, not a real result\n";
  return out;
}

std::string advisory_text(const Comparison& comparison, const Style& style) {
  std::string out;
  for (const auto& row : comparison.rows) {
    if (row.blocking || (row.verdict != Verdict::regressed && row.verdict != Verdict::improved)) continue;
    const auto line = fmt::format("  {} {} {} -> {} ({} {}) in {}", to_string(row.verdict), row.metric,
                                  detail::four_digits(row.base.mean), detail::four_digits(row.head.mean),
                                  change_text(row.scale, row.change, true), row.scale == Scale::ratio ? "%" : "points",
                                  detail::printable(row.cell));
    out += detail::paragraph(line, style, 4);
  }
  if (out.empty()) return "";
  return fmt::format("\nAdvisory metrics that changed (never block; {} compared):\n", comparison.advisory.compared) +
         out;
}

std::string differences_text(const std::vector<verdict::FieldDifference>& items, const char* title,
                             const Style& style) {
  std::string out;
  for (const auto& item : items) {
    const auto cells = item.cells == 0 ? std::string() : fmt::format(" ({})", plural(item.cells, "cell"));
    out += detail::paragraph(fmt::format("  {}: {} -> {}{}", detail::printable(item.field),
                                         detail::printable(item.base), detail::printable(item.head), cells),
                             style, 4);
  }
  return out.empty() ? out : fmt::format("\n{}\n", title) + out;
}

std::string cells_text(const std::vector<verdict::UnmatchedCell>& cells, const char* title, const Style& style) {
  std::string out;
  for (const auto& cell : cells) {
    out += detail::paragraph(fmt::format("  {}: {}", detail::printable(cell.id), detail::printable(cell.reason)), style,
                             4);
  }
  return out.empty() ? out : fmt::format("\n{}\n", title) + out;
}

std::string summary_text(const Comparison& comparison, const Style& style) {
  std::string out;
  for (const auto& item : comparison.summaries) {
    const auto* metric = find_metric(item.metric);
    if (metric == nullptr || !metric->blocking) continue;
    out += fmt::format("{}{} {} % ({})", out.empty() ? "" : ", ", item.metric, detail::signed_percent(item.change),
                       plural(item.cells, "cell"));
  }
  return out.empty() ? out : "\n" + detail::paragraph("geometric mean over matched cells: " + out, style);
}

std::string header_text(const Comparison& comparison, const Style& style) {
  const auto line = [&](const std::string& text) { return detail::paragraph(text, style); };
  const auto& counts = comparison.counts;
  std::string out =
      line(fmt::format("suite {}: base {} ({}), head {} ({})", detail::printable(comparison.suite),
                       detail::printable(comparison.base_name), detail::printable(comparison.base_created_at),
                       detail::printable(comparison.head_name), detail::printable(comparison.head_created_at)));
  const auto head = headline(comparison.exit_code);
  out += fmt::format("verdict: {} (exit code {})\n", detail::colored(head.text, head.color, style),
                     static_cast<int>(comparison.exit_code));
  if (!comparison.comparable) return out + line("refused: " + detail::printable(comparison.refusal));
  out += line(
      fmt::format("compared {} of {} expected rows in {} of {} cells: {} pass, {} regressed, {} improved, "
                  "{} inconclusive, {} invalid, {} missing",
                  counts.compared, counts.expected, comparison.cells_matched, comparison.cells_expected, counts.passed,
                  counts.regressed, counts.improved, counts.inconclusive, counts.invalid, counts.missing));
  if (comparison.cells_excluded > 0) {
    out += fmt::format("{} cells of base left out by the selection\n", comparison.cells_excluded);
  }
  return out;
}

}  // namespace

std::string comparison_table(const Comparison& comparison, const Style& style) {
  std::string out = header_text(comparison, style);
  out += differences_text(comparison.machine, "Machines differ:", style);
  if (!comparison.comparable) return out;
  out += rows_text(comparison, style);
  out += advisory_text(comparison, style);
  out += summary_text(comparison, style);
  out +=
      differences_text(comparison.software, "Software and variables that differ (base -> head; never block):", style);
  out += cells_text(comparison.only_in_base, "Cells in base only:", style);
  out += cells_text(comparison.only_in_head, "Cells in head only:", style);
  if (!comparison.notes.empty()) out += "\nNotes:\n";
  for (const auto& note : comparison.notes) {
    out += detail::paragraph("  " + detail::printable(note), style, 4);
  }
  return out;
}

}  // namespace stepgauge::report
