#include "config/policy.hpp"

#include <fmt/format.h>

#include "config/reader.hpp"
#include "contract/metrics.hpp"
#include "contract/suggest.hpp"

namespace stepgauge::config {
namespace {

template <typename T, typename U>
void put(const std::optional<T>& value, U& field) {
  if (value) field = *value;
}

void read_measure(const Node& node, const std::string& where, PolicyPatch& patch) {
  static const std::vector<std::string> keys{"steps",     "warmup_block",    "warmup_max_steps", "warmup_max",
                                             "losses",    "trace_steps",     "parity_steps",     "graphs",
                                             "ir_census", "allreduce_sweep", "collective_log"};
  constexpr std::int64_t max_steps = 1'000'000;
  for (const auto& [key, mark, value] : require_map(node, where, keys).entries) {
    const auto item = where + "." + key;
    if (key == "steps") patch.steps = read_integer(*value, item, 1, max_steps);
    if (key == "warmup_block") patch.warmup_block = read_integer(*value, item, 1, 10'000);
    if (key == "warmup_max_steps") patch.warmup_max_steps = read_integer(*value, item, 1, max_steps);
    if (key == "warmup_max") patch.warmup_max_s = read_duration(*value, item, 0.001);
    if (key == "losses") patch.losses = read_integer(*value, item, 0, 100'000);
    if (key == "trace_steps") patch.trace_steps = read_integer(*value, item, 0, 1000);
    if (key == "parity_steps") patch.parity_steps = read_integer(*value, item, 0, 100);
    if (key == "graphs") patch.graphs = read_bool(*value, item);
    if (key == "ir_census") patch.ir_census = read_bool(*value, item);
    if (key == "allreduce_sweep") patch.allreduce_sweep = read_bool(*value, item);
    if (key == "collective_log") patch.collective_log = read_bool(*value, item);
  }
}

void read_limits(const Node& node, const std::string& where, PolicyPatch& patch) {
  static const std::vector<std::string> keys{"launch", "silence", "grace", "compile"};
  for (const auto& [key, mark, value] : require_map(node, where, keys).entries) {
    const auto item = where + "." + key;
    if (key == "launch") patch.launch_s = read_duration(*value, item, 0.001);
    if (key == "silence") patch.silence_s = read_duration(*value, item, 0.001);
    if (key == "grace") patch.grace_s = read_duration(*value, item, 0);
    if (key == "compile") patch.compile_s = read_duration(*value, item, 0.001);
  }
}

void read_requires(const Node& node, const std::string& where, PolicyPatch& patch) {
  static const std::vector<std::string> keys{"gpus", "gpu_memory_gib", "compute_capability", "link", "memory_gib"};
  static const std::vector<std::string> links{"nvlink"};
  for (const auto& [key, mark, value] : require_map(node, where, keys).entries) {
    const auto item = where + "." + key;
    if (key == "gpus") patch.gpus = static_cast<int>(read_integer(*value, item, 0, 4096));
    if (key == "gpu_memory_gib") patch.gpu_memory_gib = read_number(*value, item, 0, 1e6);
    if (key == "compute_capability") patch.compute_capability = read_number(*value, item, 0, 100);
    if (key == "link") patch.link = read_choice(*value, item, links);
    if (key == "memory_gib") patch.memory_gib = read_number(*value, item, 0, 1e7);
  }
}

CellTolerance read_tolerance(const MetricInfo& metric, const Node& node, const std::string& where) {
  static const std::vector<std::string> keys{"relative", "floor"};
  CellTolerance tolerance;
  const auto read_relative = [&](const Node& value, const std::string& item) {
    if (metric.scale == Scale::points)
      fail(value.mark,
           fmt::format("{}: {} is compared in points ({}); give it a floor", item, metric.name, metric.unit));
    tolerance.relative = read_fraction(value, item);
  };
  if (node.kind != Node::Kind::map) {
    read_relative(node, where);
    return tolerance;
  }
  if (require_map(node, where, keys).entries.empty())
    fail(node.mark, fmt::format("{}: the map is empty; expected relative, floor or both", where));
  if (const auto* entry = node.find("relative")) read_relative(*entry->value, where + ".relative");
  if (const auto* entry = node.find("floor")) tolerance.floor = read_number(*entry->value, where + ".floor", 0, 1e12);
  return tolerance;
}

void read_tolerances(const Node& node, const std::string& where, PolicyPatch& patch) {
  for (const auto& entry : require_map(node, where).entries) {
    const auto* metric = find_metric(entry.key);
    if (metric == nullptr) {
      const auto names = metric_names();
      fail(entry.mark, fmt::format("{}: unknown metric \"{}\"{}", where, entry.key, suggestion(entry.key, names)));
    }
    patch.tolerance[entry.key] = read_tolerance(*metric, *entry.value, where + "." + entry.key);
  }
}

}  // namespace

const std::vector<std::string>& policy_keys() {
  static const std::vector<std::string> keys{"launches",  "measure", "limits",     "requires",
                                             "tolerance", "trace",   "stall_alarm"};
  return keys;
}

void read_policy(const std::string& key, const Node& node, const std::string& where, PolicyPatch& patch) {
  if (key == "launches") patch.launches = static_cast<int>(read_integer(node, where, 1, 10'000));
  if (key == "stall_alarm") patch.stall_alarm = read_percent(node, where, 100);
  if (key == "trace") patch.keep_trace = read_bool(node, where);
  if (key == "measure") read_measure(node, where, patch);
  if (key == "limits") read_limits(node, where, patch);
  if (key == "requires") read_requires(node, where, patch);
  if (key == "tolerance") read_tolerances(node, where, patch);
  if (key == "price_per_gpu_hour") patch.price_per_gpu_hour = read_number(node, where, 0, 1e6);
  if (key == "peak_tflops") patch.peak_tflops = read_number(node, where, 0, 1e6);
}

void PolicyPatch::apply(Cell& cell) const {
  put(launches, cell.launches);
  put(price_per_gpu_hour, cell.price_per_gpu_hour);
  put(peak_tflops, cell.peak_tflops);
  put(steps, cell.measure.steps);
  put(warmup_block, cell.measure.warmup_block);
  put(warmup_max_steps, cell.measure.warmup_max_steps);
  put(warmup_max_s, cell.measure.warmup_max_s);
  put(losses, cell.measure.losses);
  put(trace_steps, cell.measure.trace_steps);
  put(keep_trace, cell.measure.keep_trace);
  put(parity_steps, cell.measure.parity_steps);
  put(graphs, cell.measure.graphs);
  put(ir_census, cell.measure.ir_census);
  put(allreduce_sweep, cell.measure.allreduce_sweep);
  put(collective_log, cell.measure.collective_log);
  put(stall_alarm, cell.stall_alarm);
  put(launch_s, cell.limits.launch_s);
  put(silence_s, cell.limits.silence_s);
  put(grace_s, cell.limits.grace_s);
  put(compile_s, cell.limits.compile_s);
  put(gpus, cell.needs.gpus);
  put(gpu_memory_gib, cell.needs.gpu_memory_gib);
  put(compute_capability, cell.needs.compute_capability);
  put(memory_gib, cell.needs.memory_gib);
  put(link, cell.needs.link);
  for (const auto& [metric, asked] : tolerance) {
    auto& target = cell.tolerance[metric];
    if (asked.relative) target.relative = asked.relative;
    if (asked.floor) target.floor = asked.floor;
  }
}

}  // namespace stepgauge::config
