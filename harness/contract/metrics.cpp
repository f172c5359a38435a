#include "contract/metrics.hpp"

namespace stepgauge {

const std::vector<MetricInfo>& metric_catalogue() {
  static const std::vector<MetricInfo> catalogue{
      {"init_latency", "s", Better::lower, Scale::ratio, 0.10, 0.5, true, "max",
       "from exec of the rank to ready for the first step: spawn + runtime + rendezvous + build + wrap + "
       "compile"},
      {"first_step_latency", "s", Better::lower, Scale::ratio, 0.10, 0.25, true, "max",
       "first step, start to device-synchronised end"},
      {"time_to_steady", "s", Better::lower, Scale::ratio, 0.10, 0.5, false, "max",
       "from exec to the end of the last unsettled step"},
      {"step_time", "ms", Better::lower, Scale::ratio, 0.02, 0, false, "max",
       "median over the steady window of the slowest rank's time per step"},
      {"throughput", "work/s", Better::higher, Scale::ratio, 0.02, 0, true, "global",
       "work of all ranks over the steady window / its time (ratio of sums)"},
      {"throughput_per_gpu", "work/s", Better::higher, Scale::ratio, 0.02, 0, false, "global", "throughput / ranks"},
      {"tflops", "TFLOP/s", Better::higher, Scale::ratio, 0.02, 0, false, "mean",
       "model FLOPs per second and rank (recomputation not counted)"},
      {"mfu", "%", Better::higher, Scale::ratio, 0.02, 0, false, "mean",
       "tflops / peak of the device in that precision"},
      {"peak_memory", "MiB", Better::lower, Scale::ratio, 0.01, 64, true, "max",
       "allocator peak of allocated memory over the steady steps"},
      {"peak_memory_first_step", "MiB", Better::lower, Scale::ratio, 0.01, 64, false, "max",
       "allocator peak of allocated memory, start to end of the first step"},
      {"peak_active", "MiB", Better::lower, Scale::ratio, 0.01, 64, false, "max",
       "allocator peak of active memory, steady steps"},
      {"peak_reserved", "MiB", Better::lower, Scale::ratio, 0.01, 64, false, "max",
       "allocator peak of reserved memory, steady steps"},
      {"outside_memory", "MiB", Better::lower, Scale::ratio, 0.05, 128, false, "max",
       "device memory in use - reserved - reading before the run"},
      {"cost", "price/M work", Better::lower, Scale::ratio, 0.02, 0, false, "global",
       "price per million samples or tokens at the suite's price per GPU hour"},
      {"fragmentation", "%", Better::lower, Scale::points, 0, 5.0, false, "max",
       "1 - peak of allocated / peak of reserved memory, steady steps"},
      {"stall_ratio", "%", Better::lower, Scale::points, 0, 1.0, false, "max",
       "share of the window in which no compute kernel runs = idle + exposed communication + exposed copies"},
      {"idle_ratio", "%", Better::lower, Scale::points, 0, 1.0, false, "max",
       "share of the window in which neither kernel nor copy runs"},
      {"exposed_comm", "%", Better::lower, Scale::points, 0, 1.0, false, "max",
       "share of the window with communication and no compute kernel"},
      {"exposed_copy", "%", Better::lower, Scale::points, 0, 1.0, false, "max",
       "share of the window with a copy and neither compute kernel nor communication"},
      {"overlap_ratio", "%", Better::higher, Scale::points, 0, 5.0, false, "mean",
       "share of communication during which a compute kernel runs"},
      {"stall_article", "%", Better::neither, Scale::points, 0, 1.0, false, "mean",
       "(window - sum of durations) / window: the article's formula, may be negative"},
      {"kernels_per_step", "count", Better::lower, Scale::ratio, 0.01, 1, false, "max",
       "kernels (CPU: outermost operators) of a traced step"},
      {"launches_per_step", "count", Better::lower, Scale::ratio, 0.01, 1, false, "max",
       "host calls of a traced step that launched work"},
      {"collectives_per_step", "count", Better::neither, Scale::ratio, 0.01, 0.5, false, "max",
       "of the process group's own record"},
      {"bytes_per_step", "MiB", Better::neither, Scale::ratio, 0.01, 0.001, false, "max",
       "bytes handed to collectives in a traced step"},
      {"rank_skew", "ms", Better::lower, Scale::ratio, 0.5, 1, false, "max",
       "largest over the collectives: last entry - first entry of the ranks, on one clock"},
      {"trace_overhead", "ratio", Better::neither, Scale::ratio, 0.05, 0.02, false, "max",
       "median traced / median untraced step time"},
      {"compile_time", "s", Better::lower, Scale::points, 0.10, 0.5, false, "max",
       "all compiling of a launch: tracing, compiling and capturing, whenever it happened"},
      {"graph_captures", "count", Better::lower, Scale::points, 0, 0.5, false, "max",
       "graphs that were compiled or captured in a launch"},
      {"graph_breaks", "count", Better::lower, Scale::points, 0, 0.5, false, "max",
       "places at which Dynamo ended a graph and went on in Python"},
      {"recompiles", "count", Better::lower, Scale::points, 0, 0.5, false, "max",
       "functions that were compiled again because a guard failed"},
      {"graph_pools", "MiB", Better::lower, Scale::points, 0.01, 64, false, "max",
       "memory that the pools of captured graphs hold"},
      {"ir_nodes", "count", Better::lower, Scale::ratio, 0.01, 1, false, "rank 0",
       "nodes of the mode's main intermediate representation"},
      {"ir_memory", "MiB", Better::lower, Scale::points, 0.05, 1, false, "rank 0",
       "memory of the mode's main intermediate representation, by the method that the record states"},
      {"loss_error", "ratio", Better::lower, Scale::points, 0.1, 0.001, false, "max",
       "largest relative error of the first losses against the eager reference of the same seed"},
  };
  return catalogue;
}

const MetricInfo* find_metric(std::string_view name) {
  for (const auto& metric : metric_catalogue()) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const auto& metric : metric_catalogue()) names.push_back(metric.name);
  return names;
}

}  // namespace stepgauge
