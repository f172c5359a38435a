#include "report/gate_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

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
using detail::paragraph;
using verdict::Gate;
using verdict::GateContext;
using verdict::GateRow;
using verdict::Verdict;

std::vector<std::string> texts_of(const GateRow& row) {
  return {fmt::format("  {}{}{}", row.metric, row.unit.empty() ? "" : " ", detail::printable(row.unit)),
          detail::four_digits(row.base),
          detail::four_digits(row.head),
          change_text(row.scale, row.change, true),
          interval_text(row),
          change_text(row.scale, row.threshold, false),
          change_text(row.scale, row.mde, false),
          fmt::format("{}{}", row.pairs, row.stage == verdict::GateStage::confirm ? " new" : ""),
          std::string(to_string(row.verdict))};
}

void add_cell(std::span<const GateRow> rows, detail::Table& table, const Style& style) {
  const auto& first = rows.front();
  table.add_line(detail::shorten_middle((first.perturbed ? "* " : "") + detail::printable(first.cell), style.width, 9));
  if (!first.base_cell.empty())
    table.add_line(detail::shorten_middle("    base: " + detail::printable(first.base_cell), style.width, 9));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    std::size_t alike = 1;  // rows in a row that say one thing, without numbers
    while (!row.change && i + alike < rows.size() && !rows[i + alike].change &&
           rows[i + alike].verdict == row.verdict && rows[i + alike].reason == row.reason)
      ++alike;
    auto texts = texts_of(row);
    if (alike > 1) texts[0] = fmt::format("  {} metrics", alike);
    table.add(std::move(texts), color_of(row.verdict));
    if (!row.reason.empty()) table.add_line(detail::wrap("      " + detail::printable(row.reason), style.width, 6));
    i += alike - 1;
  }
}

std::string rows_text(const std::vector<GateRow>& rows, const Style& style) {
  if (rows.empty()) return "";
  detail::Table table({{"metric", true},
                       {"base"},
                       {"head"},
                       {"change %"},
                       {"95 % interval"},
                       {"tol %"},
                       {"mde %"},
                       {"pairs"},
                       {"verdict", true}});
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t end = begin;
    while (end < rows.size() && rows[end].cell == rows[begin].cell) ++end;
    add_cell(std::span(rows).subspan(begin, end - begin), table, style);
    begin = end;
  }
  return "\n" + table.text(style);
}

std::string arm_text(const char* name, const std::vector<std::string>& forms, const verdict::ArmLaunches& launches) {
  return fmt::format("{} {} ({} launches ok, {} failed, {} spoilt)", name,
                     detail::printable(fmt::format("{}", fmt::join(forms, " + "))), launches.ok, launches.failed,
                     launches.outside);
}

std::string header_text(const Gate& gate, const GateContext& context, const Style& style) {
  const auto& counts = gate.counts;
  const auto head = headline(gate.exit_code);
  std::string out =
      paragraph(fmt::format("gate of suite {}: {}, {}", detail::printable(context.suite),
                            arm_text("base", context.base, gate.base), arm_text("head", context.head, gate.head)),
                style, 2);
  out += fmt::format("verdict: {} (exit code {})\n", detail::colored(head.text, head.color, style),
                     static_cast<int>(gate.exit_code));
  out += paragraph(
      fmt::format(
          "compared {} of {} expected rows in {} of {} cells: {} pass, {} regressed, {} improved, {} inconclusive "
          "({} not gateable), {} invalid, {} missing",
          counts.compared, counts.expected, gate.cells_measured, gate.cells_expected, counts.passed, counts.regressed,
          counts.improved, counts.inconclusive, gate.not_gateable, counts.invalid, counts.missing),
      style, 2);
  const auto& policy = context.policy;
  out += paragraph(fmt::format("seed {}, attempt {}; {}; rows suspected: {}, pairs dropped: {}", policy.seed,
                               context.attempts, verdict::design_text(policy), gate.suspected, gate.spoilt_pairs),
                   style, 2);
  if (!context.stopped.empty()) out += paragraph("ended early: " + context.stopped, style, 2);
  return out;
}

std::string skipped_text(const std::vector<SkippedCell>& skipped, const Style& style) {
  std::string out;
  for (const auto& cell : skipped) {
    if (cell.status != Status::unsupported) continue;
    out += paragraph(
        fmt::format("  {}: {}: {}", detail::printable(cell.id), to_string(cell.status), detail::printable(cell.reason)),
        style, 4);
  }
  return out.empty() ? out : "\nCells that cannot be measured here:\n" + out;
}

std::string software_text(const std::vector<verdict::FieldDifference>& items, const Style& style) {
  std::string out;
  for (const auto& item : items)
    out += paragraph(fmt::format("  {}: {} -> {} ({})", detail::printable(item.field), detail::printable(item.base),
                                 detail::printable(item.head), plural(item.cells, "cell")),
                     style, 4);
  return out.empty() ? out : "\nSoftware and variables that differ (base -> head):\n" + out;
}

}  // namespace

std::string gate_table(const Gate& gate, const GateContext& context, const Style& style) {
  std::string out = header_text(gate, context, style);
  out += rows_text(gate.rows, style);
  out += software_text(context.software, style);
  out += skipped_text(context.skipped, style);
  if (!gate.notes.empty()) out += "\nNotes:\n";
  for (const auto& note : gate.notes) out += paragraph("  " + detail::printable(note), style, 4);
  return out + "\n" +
         paragraph(
             fmt::format("records: {0}/base and {0}/head, verdict: {0}/gate.json", detail::printable(context.folder)),
             style, 2);
}

}  // namespace stepgauge::report
