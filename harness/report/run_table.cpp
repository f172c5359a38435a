#include "report/run_table.hpp"

#include <fmt/format.h>

#include <map>

#include <algorithm>
#include <vector>

#include "contract/optional_json.hpp"
#include "contract/plural.hpp"
#include "report/communication_table.hpp"
#include "report/detail/cell_names.hpp"
#include "report/detail/cell_summary.hpp"
#include "report/detail/communication.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/mode_sheets.hpp"
#include "report/detail/number.hpp"
#include "report/detail/table.hpp"
#include "report/inside_table.hpp"
#include "report/mode_tables.hpp"
#include "stats/summary.hpp"

namespace stepgauge::report {
namespace {

using detail::CellSummary;
using detail::Color;

constexpr const char* perturbed_mark = "* ";

Color color_of(const CellSummary& cell) {
  if (cell.status == "ok") return Color::green;
  return cell.status == "partial" || cell.status == "not run" ? Color::yellow : Color::red;
}

std::vector<std::string> texts_of(const CellSummary& cell, const std::string& name) {
  return {(cell.perturbed ? perturbed_mark : "") + name,
          fmt::format("{}/{}", cell.ok, cell.asked),
          detail::four_digits(cell.init_s),
          detail::four_digits(cell.first_step_s),
          detail::four_digits(cell.step_ms),
          detail::percent(cell.step_cv),
          detail::four_digits(cell.throughput),
          detail::four_digits(cell.peak_mib),
          detail::printable(cell.status)};
}

std::string table_of(const std::vector<CellSummary>& cells, const std::string& unit, const Style& style) {
  const auto make = [&](const std::vector<std::string>& names) {
    detail::Table table({{"cell", true},
                         {"ok"},
                         {"init s"},
                         {"first s"},
                         {"step ms"},
                         {"cv %"},
                         {unit.empty() ? "work/s" : detail::printable(unit)},
                         {"peak MiB"},
                         {"status", true}});
    for (std::size_t i = 0; i < cells.size(); ++i) table.add(texts_of(cells[i], names[i]), color_of(cells[i]));
    return table;
  };
  std::vector<std::string> ids;
  bool perturbed = false;
  for (const auto& cell : cells) {
    ids.push_back(detail::printable(cell.id));
    perturbed = perturbed || cell.perturbed;
  }
  const auto room = make(ids).room(style);
  const auto names = detail::cell_names(ids, room - (perturbed ? std::min<std::size_t>(room, 2) : 0));
  std::string out;
  if (!names.common.empty()) out += detail::paragraph("all cells: " + names.common, style);
  out += make(names.names).text(style);
  if (perturbed) out += "* PERTURBED: slowed on purpose, not a real result\n";
  return out;
}

std::string logs_of(const LaunchRecord& launch) {
  const auto evidence = launch.detail.find("evidence");
  if (evidence == launch.detail.end() || !evidence->is_object()) return "";
  const auto folder = evidence->find("folder");
  return folder != evidence->end() && folder->is_string() ? folder->get<std::string>() : "";
}

std::string failures_text(const ResultSet& results, const Style& style) {
  std::string out;
  for (const auto& cell : results.cells) {
    for (const auto& launch : cell.launches) {
      if (launch.status == Status::ok) continue;
      out += detail::paragraph("  " + detail::printable(launch.cell_id), style, 4);
      out += detail::paragraph(fmt::format("    launch {}{}: {}{}{}", launch.launch,
                                           launch.attempt > 1 ? fmt::format(" (attempt {})", launch.attempt) : "",
                                           detail::colored(std::string(to_string(launch.status)), Color::red, style),
                                           launch.reason.empty() ? "" : ": ", detail::printable(launch.reason)),
                               style, 6);
      if (const auto logs = logs_of(launch); !logs.empty()) {
        out += "    logs: " + detail::printable(logs) + "\n";
      }
    }
  }
  return out.empty() ? out : "\nLaunches that are not ok (not in the numbers above):\n" + out;
}

/// Cells left out by choice are counted, the others are named.
std::string skipped_text(const ResultSet& results, const Style& style) {
  std::string out;
  std::map<std::string, std::size_t> by_choice;
  for (const auto& cell : results.skipped) {
    if (cell.status == Status::skipped) {
      ++by_choice[cell.reason];
      continue;
    }
    out += detail::paragraph(fmt::format("  {}: {}{}{}", detail::printable(cell.id), to_string(cell.status),
                                         cell.reason.empty() ? "" : ": ", detail::printable(cell.reason)),
                             style, 4);
  }
  for (const auto& [reason, count] : by_choice) {
    out += detail::paragraph(
        fmt::format("  {} skipped{}{}", plural(count, "cell"), reason.empty() ? "" : ": ", detail::printable(reason)),
        style, 4);
  }
  return out.empty() ? out : "\nCells that were not launched:\n" + out;
}

/// Medians of what compiled modes are judged by; null where no launch has it.
Json modes_json(const CellResults& cell) {
  Json out = Json::object();
  for (const char* metric : {"compile_time", "time_to_steady", "graph_captures", "graph_breaks", "recompiles",
                             "graph_pools", "ir_nodes", "ir_memory", "loss_error"})
    out[metric] = json_of(stats::median(detail::values_of(cell, metric)));
  out["visibility"] = detail::last_part(cell, "visibility");
  return out;
}

}  // namespace

std::string run_table(const ResultSet& results, const Style& style) {
  std::size_t ok = 0, launched = 0;
  for (const auto& cell : results.cells) {
    launched += cell.launches.size();
    for (const auto& launch : cell.launches) ok += launch.status == Status::ok;
  }
  std::string out =
      detail::paragraph(fmt::format("{}: suite {}, {}, {} of {} launches ok, {} skipped",
                                    detail::printable(results.name), detail::printable(results.suite),
                                    plural(results.cells.size(), "cell"), ok, launched, results.skipped.size()),
                        style);
  for (const auto& [unit, cells] : detail::summaries_by_unit(results)) out += "\n" + table_of(cells, unit, style);
  if (launched == 0) out += "\nnothing was measured\n";
  return out + inside_table(results, style) + communication_table(results, style) + mode_tables(results, style) +
         failures_text(results, style) + skipped_text(results, style);
}

Json run_summary_json(const ResultSet& results) {
  Json cells = Json::array();
  for (const auto& cell : results.cells) {
    const auto summary = detail::summarise(cell);
    cells.push_back({{"id", summary.id},
                     {"hash", cell.cell.hash},
                     {"perturbed", summary.perturbed},
                     {"ok", summary.ok},
                     {"launched", summary.launched},
                     {"asked", summary.asked},
                     {"status", summary.status},
                     {"init_latency_s", json_of(summary.init_s)},
                     {"first_step_latency_s", json_of(summary.first_step_s)},
                     {"step_time_ms", json_of(summary.step_ms)},
                     {"step_time_cv", json_of(summary.step_cv)},
                     {"throughput", json_of(summary.throughput)},
                     {"throughput_unit", summary.work_unit},
                     {"peak_memory_mib", json_of(summary.peak_mib)},
                     {"modes", modes_json(cell)},
                     {"topology_check", detail::topology_check(cell)}});
  }
  Json skipped = Json::array();
  for (const auto& cell : results.skipped) {
    skipped.push_back({{"id", cell.id}, {"status", to_string(cell.status)}, {"reason", cell.reason}});
  }
  return {{"name", results.name},
          {"suite", results.suite},
          {"created_at", results.created_at},
          {"cells", cells},
          {"skipped", skipped}};
}

}  // namespace stepgauge::report
