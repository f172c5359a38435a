#include "report/baseline_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/detail/cell_summary.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/machine_text.hpp"
#include "report/detail/number.hpp"
#include "report/mode_tables.hpp"

namespace stepgauge::report {
namespace {

using detail::CellSummary;
using detail::markdown;

/// The command as a shell would read it, as a code span.
std::string command_text(const std::vector<std::string>& command) {
  const auto text = detail::shell_words(command);
  const auto fence = detail::backquotes(text, 1);
  return fence.size() == 1 ? fence + text + fence : fence + " " + text + " " + fence;
}

/// Versions as the ranks loaded them: every value seen in any ok launch.
std::string versions_text(const ResultSet& results) {
  std::map<std::string, std::set<std::string>> seen;
  for (const auto& cell : results.cells) {
    for (const auto& launch : cell.launches) {
      const auto ranks = launch.detail.find("ranks");
      if (launch.status != Status::ok || ranks == launch.detail.end() || !ranks->is_array()) continue;
      for (const auto& rank : *ranks) {
        const auto software = rank.is_object() ? rank.find("software") : rank.end();
        if (!rank.is_object() || software == rank.end() || !software->is_object()) continue;
        for (const auto& [name, value] : software->items()) {
          if (value.is_primitive()) seen[name].insert(value.is_string() ? value.get<std::string>() : value.dump());
        }
      }
    }
  }
  std::string out;
  for (const auto& [name, values] : seen) {
    out += (out.empty() ? "" : ", ") + name;
    for (const auto& value : values) out += " " + value;
  }
  return out.empty() ? "unknown" : out;
}

std::string table_text(const std::vector<CellSummary>& cells, const std::string& unit) {
  std::string out = fmt::format(
      "| cell | launches ok | init s | first step s | step ms | cv % | {} | peak MiB | status |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|---|\n",
      unit.empty() ? "work/s" : markdown(unit));
  for (const auto& cell : cells) {
    out += fmt::format("| {}{} | {}/{} | {} | {} | {} | {} | {} | {} | {} |\n", cell.perturbed ? "PERTURBED " : "",
                       markdown(cell.id), cell.ok, cell.asked, detail::four_digits(cell.init_s),
                       detail::four_digits(cell.first_step_s), detail::four_digits(cell.step_ms),
                       detail::percent(cell.step_cv), detail::four_digits(cell.throughput),
                       detail::four_digits(cell.peak_mib), markdown(cell.status));
  }
  return out;
}

}  // namespace

std::string baseline_markdown(const ResultSet& results, const TableSource& source) {
  std::string out = fmt::format("# {}\n\n", markdown(results.suite));
  if (!source.command.empty()) out += fmt::format("- Command: {}\n", command_text(source.command));
  if (!source.run.empty()) out += fmt::format("- Run: {}\n", markdown(source.run));
  out += fmt::format("- Machine: {}\n", markdown(detail::machine_text(results.fingerprint)));
  out += fmt::format("- Versions: {}\n", markdown(versions_text(results)));
  out += fmt::format("- Date: {}\n\n", markdown(results.created_at));
  out += "Medians over the ok launches; cv: spread of the step time between launches.\n";
  for (const auto& [unit, cells] : detail::summaries_by_unit(results)) out += "\n" + table_text(cells, unit);
  if (const auto row = article_row_of_suite(results.suite); !row.empty()) {
    out += "\n" + article_markdown(results, row, source.snapshots);
  } else if (!mode_tables(results).empty()) {
    out += mode_tables_markdown(results);
  }
  if (!results.skipped.empty()) out += "\nNot launched:\n\n";
  for (const auto& cell : results.skipped) {
    out += fmt::format("- {}: {}{}{}\n", markdown(cell.id), to_string(cell.status), cell.reason.empty() ? "" : ": ",
                       markdown(cell.reason));
  }
  return out;
}

}  // namespace stepgauge::report
