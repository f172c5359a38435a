#pragma once
// Result sets by hand, for the tests of verdict, report and store.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "contract/metrics.hpp"
#include "contract/result_set.hpp"

namespace stepgauge::testing {

using Samples = std::map<std::string, std::vector<double>>;  ///< metric -> one value a launch

struct Settings {
  std::string workload = "resnet50";
  std::string precision = "fp32";
  std::string compile = "eager";
  int ranks = 1;
};

inline Cell make_cell(const Settings& settings = {}) {
  Cell cell;
  cell.suite = "unit";
  cell.device = "cpu";
  cell.workload = {settings.workload, "resnet", {{"image", 224}}};
  cell.batch = 32;
  cell.precision = settings.precision;
  cell.compile = settings.compile;
  cell.ddp.ranks = settings.ranks;
  assign_identity(cell);
  return cell;
}

inline Cell slowed(Cell cell, double percent) {
  cell.perturb.step_percent = percent;
  assign_identity(cell);
  return cell;
}

inline std::string unit_of(const std::string& metric) {
  if (metric == "throughput") return "samples/s";
  const auto* info = find_metric(metric);
  return info == nullptr ? "" : info->unit;
}

inline LaunchRecord make_launch(const Cell& cell, int index, Status status = Status::ok, std::string reason = "") {
  LaunchRecord record;
  record.cell_id = cell.id;
  record.cell_hash = cell.hash;
  record.suite = cell.suite;
  record.launch = index;
  record.status = status;
  record.reason = std::move(reason);
  record.started_at = "2026-11-29T10:00:00Z";
  record.duration_s = 12.5;
  record.perturbed = is_perturbed(cell);
  return record;
}

inline CellResults measured(const Cell& cell, const Samples& samples) {
  CellResults out{cell, {}};
  std::size_t launches = 0;
  for (const auto& [metric, values] : samples) launches = std::max(launches, values.size());
  for (std::size_t i = 0; i < launches; ++i) {
    auto record = make_launch(cell, static_cast<int>(i));
    for (const auto& [metric, values] : samples) {
      if (i < values.size()) record.metrics[metric] = {values[i], unit_of(metric), ""};
    }
    out.launches.push_back(std::move(record));
  }
  return out;
}

inline void add_failure(CellResults& cell, Status status, const std::string& reason = "it broke") {
  cell.launches.push_back(make_launch(cell.cell, static_cast<int>(cell.launches.size()), status, reason));
}

inline Json cpu_machine() {
  return {{"cpu", {{"model", "Test CPU"}, {"cores", 2}}}};
}

inline Json gpu_machine(const std::string& model) {
  auto out = cpu_machine();
  out["gpus"] = Json::array({{{"model", model}, {"memory_gib", 141}, {"count", 2}}});
  out["links"] = {{"nvlink", 1}};
  return out;
}

inline ResultSet result_set(std::string name, std::vector<CellResults> cells) {
  ResultSet out;
  out.name = std::move(name);
  out.suite = "unit";
  out.created_at = "2026-11-29T10:00:00Z";
  out.fingerprint = cpu_machine();
  out.environment = {{"kernel", "6.1"}, {"os", "Debian 12"}};
  out.cells = std::move(cells);
  return out;
}

/// Values around a mean, reproducible: mean * (1 + spread * z) with z the same for every call.
inline std::vector<double> around(double mean, double spread, std::size_t n = 5) {
  static constexpr double z[] = {0.3, -0.9, 1.2, -0.5, -0.1, 0.8, -1.4, 0.6, 0.1, -0.1};
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(mean * (1 + spread * z[i % 10]));
  return out;
}

}  // namespace stepgauge::testing
