#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>

#include "trials.hpp"
#include "verdict/compare.hpp"
#include "verdict/gate.hpp"
#include "verdict/trend.hpp"

namespace stepgauge::validation {
namespace {

/// The four metrics that block and one that does not.
constexpr const char* metrics[] = {"throughput", "init_latency", "first_step_latency", "peak_memory", "step_time"};
constexpr double spread = 0.01;  ///< of launches, ln: much is under suspicion

template <typename Work>
double cpu_seconds(const Work& work) {
  const auto begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

std::map<std::string, MetricValue> values(std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::map<std::string, MetricValue> out;
  for (const auto* metric : metrics)
    out[metric] = {5000 * std::exp(spread * normal(random)), find_metric(metric)->unit, ""};
  return out;
}

std::vector<verdict::GateCell> gate_cells(std::size_t cells, std::size_t launches, const verdict::GatePolicy& policy) {
  std::mt19937_64 random(1);
  std::vector<verdict::GateCell> out(cells);
  for (std::size_t i = 0; i < cells; ++i) {
    out[i].base.id = out[i].head.id = "cell" + std::to_string(i);
    for (std::size_t pair = 0; pair < launches; ++pair) {
      verdict::GateLaunch base, head;
      base.metrics = values(random);
      head.metrics = values(random);
      const auto stage = pair < policy.screen_pairs ? verdict::GateStage::screen : verdict::GateStage::confirm;
      out[i].tries.push_back({stage, static_cast<int>(pair), std::move(base), std::move(head), ""});
    }
  }
  return out;
}

ResultSet results(std::size_t cells, std::size_t launches, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  ResultSet out;
  out.suite = "speed";
  out.fingerprint = {{"cpu", {{"model", "x"}, {"cores", 2}}}};
  for (std::size_t i = 0; i < cells; ++i) {
    CellResults cell;
    cell.cell.workload = {"resnet18", "resnet", {}};
    cell.cell.batch = static_cast<std::int64_t>(i) + 1;
    assign_identity(cell.cell);
    for (std::size_t launch = 0; launch < launches; ++launch) {
      LaunchRecord record;
      record.cell_id = cell.cell.id;
      record.cell_hash = cell.cell.hash;
      record.launch = static_cast<int>(launch);
      record.metrics = values(random);
      cell.launches.push_back(std::move(record));
    }
    out.cells.push_back(std::move(cell));
  }
  return out;
}

/// The values in the text format of Go's benchmarks, a line a launch.
void write_benchmark_text(const std::filesystem::path& path, const ResultSet& results) {
  std::ofstream out(path);
  for (std::size_t i = 0; i < results.cells.size(); ++i) {
    for (const auto& launch : results.cells[i].launches) {
      std::string line = fmt::format("BenchmarkCell{} 1", i);
      for (const auto* metric : metrics) line += fmt::format(" {} {}", *launch.metrics.at(metric).value, metric);
      out << line << "\n";
    }
  }
  if (!out.flush()) throw std::runtime_error(path.string() + ": cannot be written");
}

verdict::TrendInput history(std::size_t nights, std::size_t series) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  verdict::TrendInput out;
  out.suite = out.machine = "speed";
  for (std::size_t i = 0; i < nights; ++i)
    out.nights.push_back({"run" + std::to_string(i), "2020-01-01T02:00:00Z", "commit", std::nullopt});
  for (std::size_t i = 0; i < series; ++i) {
    auto& one = out.series.emplace_back();
    one.cell = "cell" + std::to_string(i);
    one.metric = find_metric("throughput");
    one.unit = one.metric->unit;
    one.last_outcome = "1 ok";
    one.reference.resize(nights);
    for (std::size_t night = 0; night < nights; ++night) {
      const double level = i % 10 == 0 && night > nights / 2 ? -0.05 : 0;  // one in ten changes
      one.tip.push_back({100 * std::exp(level + spread * normal(random))});
    }
  }
  return out;
}

}  // namespace

Json speed_trial(const Json& setting) {
  const auto cells = require<std::size_t>(setting, "cells", "speed");
  const auto launches = require<std::size_t>(setting, "launches", "speed");
  const auto nights = require<std::size_t>(setting, "nights", "speed");
  const auto series = require<std::size_t>(setting, "series", "speed");
  Json out{{"metrics", std::size(metrics)},
           {"cells", cells},
           {"launches_an_arm", launches},
           {"nights", nights},
           {"series", series}};
  const auto sequential = verdict::sequential_policy();
  const verdict::GatePolicy fixed;
  for (const auto* policy : {&fixed, &sequential}) {
    const auto made = gate_cells(cells, launches, *policy);
    verdict::Gate gate;
    out[std::string("gate_") + verdict::design_name(*policy) + "_s"] =
        cpu_seconds([&] { gate = verdict::judge_gate(made, *policy); });
    out[std::string("gate_") + verdict::design_name(*policy) + "_suspected"] = gate.suspected;
  }
  const auto base = results(cells, launches, 1), head = results(cells, launches, 2);
  out["compared_values"] = 2 * cells * launches * std::size(metrics);
  out["compare_s"] = cpu_seconds([&] {
    if (verdict::compare(base, head).rows.empty()) throw std::logic_error("nothing was compared");
  });
  if (const auto folder = optional<std::string>(setting, "benchmark_text", "", "speed"); !folder.empty()) {
    write_benchmark_text(std::filesystem::path(folder) / "base.txt", base);
    write_benchmark_text(std::filesystem::path(folder) / "head.txt", head);
  }
  const auto nightly = history(nights, series);
  out["history_s"] = cpu_seconds([&] { out["history_alarms"] = verdict::judge_trend(nightly).counts.alarm; });
  return out;
}

}  // namespace stepgauge::validation
