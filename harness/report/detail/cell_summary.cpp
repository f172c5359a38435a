#include "report/detail/cell_summary.hpp"

#include <algorithm>
#include <vector>

#include "stats/summary.hpp"

namespace stepgauge::report::detail {
namespace {

std::string status_of(const CellSummary& summary, const CellResults& cell) {
  if (cell.launches.empty()) return "not run";
  if (summary.ok == summary.launched) return summary.launched < summary.asked ? "partial" : "ok";
  const auto bad = std::find_if(cell.launches.begin(), cell.launches.end(),
                                [](const LaunchRecord& launch) { return launch.status != Status::ok; });
  std::string out(to_string(bad->status));
  const bool others = std::any_of(cell.launches.begin(), cell.launches.end(), [&](const LaunchRecord& launch) {
    return launch.status != Status::ok && launch.status != bad->status;
  });
  return others ? out + ", .." : out;
}

}  // namespace

std::vector<double> values_of(const CellResults& cell, const std::string& metric, std::string* unit) {
  std::vector<double> out;
  for (const auto& launch : cell.launches) {
    const auto found = launch.metrics.find(metric);
    if (launch.status != Status::ok || found == launch.metrics.end() || !found->second.value) continue;
    if (unit != nullptr) *unit = found->second.unit;
    out.push_back(*found->second.value);
  }
  return out;
}

CellSummary summarise(const CellResults& cell) {
  CellSummary out;
  out.id = cell.cell.id;
  out.perturbed = is_perturbed(cell.cell);
  out.launched = cell.launches.size();
  out.asked = std::max<std::size_t>(out.launched, static_cast<std::size_t>(std::max(0, cell.cell.launches)));
  for (const auto& launch : cell.launches) {
    out.ok += launch.status == Status::ok;
    out.perturbed = out.perturbed || launch.perturbed;
  }
  out.init_s = stats::median(values_of(cell, "init_latency"));
  out.first_step_s = stats::median(values_of(cell, "first_step_latency"));
  const auto steps = values_of(cell, "step_time");
  out.step_ms = stats::median(steps);
  out.step_cv = stats::coefficient_of_variation(steps);
  out.throughput = stats::median(values_of(cell, "throughput", &out.work_unit));
  out.peak_mib = stats::median(values_of(cell, "peak_memory"));
  out.status = status_of(out, cell);
  return out;
}

std::map<std::string, std::vector<CellSummary>> summaries_by_unit(const ResultSet& results) {
  std::string first;
  for (const auto& cell : results.cells) {
    auto unit = summarise(cell).work_unit;
    if (!unit.empty() && (first.empty() || unit < first)) first = std::move(unit);
  }
  std::map<std::string, std::vector<CellSummary>> out;
  for (const auto& cell : results.cells) {
    auto summary = summarise(cell);
    out[summary.work_unit.empty() ? first : summary.work_unit].push_back(std::move(summary));
  }
  return out;
}

}  // namespace stepgauge::report::detail
