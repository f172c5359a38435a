#include "report/inside_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <vector>

#include "contract/plural.hpp"
#include "report/detail/cell_names.hpp"
#include "report/detail/cell_summary.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/mode_sheets.hpp"
#include "report/detail/number.hpp"
#include "report/detail/table.hpp"
#include "stats/summary.hpp"

namespace stepgauge::report {
namespace {

using detail::middle;

/// Shares are shown with two decimals, so that the four of a line can be added up.
std::string share(const std::optional<double>& percent) {
  return percent ? fmt::format("{:.2f}", *percent) : "-";
}

std::vector<std::string> texts_of(const CellResults& cell, const std::string& name) {
  const auto stall = middle(cell, "stall_ratio");
  return {name,
          share(stall ? std::optional<double>(100 - *stall) : std::nullopt),
          share(middle(cell, "exposed_comm")),
          share(middle(cell, "exposed_copy")),
          share(middle(cell, "idle_ratio")),
          share(middle(cell, "overlap_ratio")),
          detail::four_digits(middle(cell, "kernels_per_step")),
          detail::four_digits(middle(cell, "launches_per_step")),
          detail::four_digits(middle(cell, "trace_overhead"))};
}

std::string table_of(const std::vector<const CellResults*>& cells, const Style& style) {
  const auto make = [&](const std::vector<std::string>& names) {
    detail::Table table({{"cell", true},
                         {"compute %"},
                         {"exp.comm"},
                         {"exp.copy"},
                         {"idle"},
                         {"overlap"},
                         {"kernels"},
                         {"launches"},
                         {"overhead"}});
    for (std::size_t i = 0; i < cells.size(); ++i) table.add(texts_of(*cells[i], names[i]));
    return table;
  };
  std::vector<std::string> ids;
  for (const auto* cell : cells) ids.push_back(detail::printable(cell->cell.id));
  const auto names = detail::cell_names(ids, make(ids).room(style));
  std::string out;
  if (!names.common.empty()) out += detail::paragraph("all cells: " + names.common, style);
  return out + make(names.names).text(style);
}

/// Reason -> cells that were measured but have no timeline for it.
std::map<std::string, std::vector<std::string>> reasons_of(const ResultSet& results) {
  std::map<std::string, std::vector<std::string>> out;
  for (const auto& cell : results.cells) {
    for (const auto& launch : cell.launches) {
      const auto metric = launch.metrics.find("stall_ratio");
      if (launch.status != Status::ok || metric == launch.metrics.end() || metric->second.value) continue;
      auto& ids = out[metric->second.absent];
      if (ids.empty() || ids.back() != cell.cell.id) ids.push_back(cell.cell.id);
    }
  }
  return out;
}

/// What the device did, as far as it was seen: kernels of a step and the transport. Empty when nobody saw.
std::string work_of(const CellResults& cell) {
  for (const auto& launch : cell.launches) {
    const auto timeline = launch.detail.find("timeline");
    if (launch.status != Status::ok || timeline == launch.detail.end() || !timeline->contains("signature")) continue;
    std::string work = timeline->value("signature", "");
    if (const auto settings = launch.detail.find("settings");
        settings != launch.detail.end() && settings->contains("transport"))
      work += " " + settings->at("transport").value("used", "");
    // The same names can stand for other shapes.
    const auto& workload = cell.cell.workload;
    return fmt::format("{} {} {} b{} w{}", work, workload.name, dump_line(Json(workload.sizes)), cell.cell.batch,
                       cell.cell.ddp.ranks);
  }
  return "";
}

/// Cold and warm caches are meant to end in the same program.
std::string hash_without_cache(Cell cell) {
  cell.cache.clear();
  assign_identity(cell);
  return cell.hash;
}

std::string same_work(const ResultSet& results, const Style& style) {
  std::map<std::string, std::vector<std::string>> by_work;
  std::map<std::string, std::set<std::string>> programs;
  for (const auto& cell : results.cells) {
    const auto work = work_of(cell);
    if (work.empty()) continue;
    by_work[work].push_back(detail::printable(cell.cell.id));
    programs[work].insert(hash_without_cache(cell.cell));
  }
  std::string out;
  for (const auto& [work, ids] : by_work) {
    if (programs[work].size() < 2) continue;
    out += detail::paragraph("  the same: " + fmt::format("{}", fmt::join(ids, " and ")), style, 4);
  }
  return out.empty() ? out : "Cells that asked for different things and ran the same kernels:\n" + out;
}

}  // namespace

std::string inside_table(const ResultSet& results, const Style& style) {
  std::vector<const CellResults*> cells;
  for (const auto& cell : results.cells) {
    if (middle(cell, "stall_ratio")) cells.push_back(&cell);
  }
  if (cells.empty()) return "";
  std::string out =
      "\nWhere a step goes (traced pass, % of its window; medians over launches)\n" + table_of(cells, style);
  for (const auto& [reason, ids] : reasons_of(results)) {
    out += detail::paragraph(
        fmt::format("no timeline for {}: {}", plural(ids.size(), "cell"), detail::printable(reason)), style);
  }
  return out + same_work(results, style);
}

}  // namespace stepgauge::report
