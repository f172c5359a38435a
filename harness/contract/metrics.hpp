#pragma once
// The metric catalogue: name, unit, direction, how ranks combine, tolerance. Definitions are in
// docs/metrics.md.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepgauge {

enum class Better { lower, higher, neither };

/// How two sides are compared: on the log scale (ratio), in the metric's own unit (points), or not at all.
enum class Scale { ratio, points };

struct MetricInfo {
  std::string name;
  std::string unit;  ///< unit in records; throughput has the workload's ("samples/s", "tokens/s")
  Better better = Better::lower;
  Scale scale = Scale::ratio;
  double tolerance = 0;      ///< relative, 0.02 = 2 % (ratio metrics)
  double floor = 0;          ///< absolute change in `unit` below which nothing counts
  bool blocking = false;     ///< judged by compare; the others are shown
  std::string across_ranks;  ///< "max", "mean", "global"
  std::string definition;    ///< one line
};

const std::vector<MetricInfo>& metric_catalogue();
const MetricInfo* find_metric(std::string_view name);
std::vector<std::string> metric_names();

}  // namespace stepgauge
