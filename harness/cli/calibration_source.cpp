#include "cli/calibration_source.hpp"

#include <algorithm>
#include <span>

#include "contract/metrics.hpp"
#include "stats/autocorrelation.hpp"
#include "stats/summary.hpp"
#include "store/fingerprint.hpp"
#include "store/history_entry.hpp"

namespace stepgauge::cli {
namespace {

/// nullopt when the record has no steady steps, or too few to have a spread.
std::optional<CalibrationSteps> steps_of(const LaunchRecord& record) {
  const auto samples = record.detail.find("samples");
  const auto window = record.detail.find("window");
  if (samples == record.detail.end() || window == record.detail.end()) return std::nullopt;
  const auto step_ms = optional<std::vector<double>>(*samples, "step_ms", {}, "samples");
  const auto begin = optional<std::size_t>(*window, "begin", 0, "window");
  const auto end = std::min(optional<std::size_t>(*window, "end", 0, "window"), step_ms.size());
  if (begin + 3 > end) return std::nullopt;
  const std::span steady(step_ms.data() + begin, end - begin);
  const auto variance = stats::variance(steady), mean = stats::mean(steady);
  if (!variance || !mean || *mean <= 0) return std::nullopt;
  const auto correlation = stats::autocorrelation(steady);
  const double inflation = correlation ? correlation->inflation : 1;
  return CalibrationSteps{*variance / (*mean * *mean), steady.size(), inflation > 0 ? inflation : 1};
}

CalibrationLaunch launch_of(const LaunchRecord& record, std::map<std::string, std::string>& units) {
  CalibrationLaunch out{record.launch, record.started_at, record.duration_s, {}, steps_of(record)};
  for (const auto& [name, metric] : record.metrics) {
    const auto* info = find_metric(name);
    if (!metric.value || info == nullptr || info->better == Better::neither) continue;
    units[name] = metric.unit;
    out.values[name] = *metric.value;
  }
  return out;
}

}  // namespace

CalibrationSession calibration_session(const store::RunFolder& run, std::string commit, std::string added_at) {
  CalibrationSession out;
  const auto& info = run.info();
  out.session = store::run_id(info);
  out.suite = info.suite;
  out.measured_at = info.created_at;
  out.added_at = std::move(added_at);
  out.commit = std::move(commit);
  out.source = run.path().string();
  out.command = info.command;
  out.fingerprint = info.fingerprint;
  for (const auto& results : run.results().cells) {
    auto& cell = out.cells.emplace_back();
    cell.id = results.cell.id;
    cell.hash = results.cell.hash;
    for (const auto& record : results.launches) {
      ++cell.statuses[std::string(to_string(record.status))];
      if (record.status == Status::ok) cell.launches.push_back(launch_of(record, cell.units));
    }
  }
  return out;
}

Json fingerprint_of(const std::vector<Cell>& cells, const machine::Machine& machine) {
  const bool uses_gpu = std::any_of(cells.begin(), cells.end(), [](const Cell& cell) { return cell.device == "cuda"; });
  return store::fingerprint(to_json(machine), uses_gpu);
}

}  // namespace stepgauge::cli
