#include "summary/launch_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "contract/metrics.hpp"
#include "stats/steady.hpp"
#include "stats/summary.hpp"
#include "summary/detail/over_ranks.hpp"
#include "summary/effective.hpp"
#include "summary/merge_communication.hpp"
#include "summary/mode_metrics.hpp"
#include "summary/mode_settings.hpp"
#include "summary/nccl_summary.hpp"
#include "summary/timeline_summary.hpp"
#include "trace/visibility.hpp"

namespace stepgauge::summary {
namespace {

using detail::max_over;

std::optional<double> init_seconds(const RankRecord& rank) {
  if (rank.phases_s.empty()) return std::nullopt;
  return std::accumulate(rank.phases_s.begin(), rank.phases_s.end(), 0.0,
                         [](double sum, const auto& phase) { return sum + phase.second; });
}

class Summary {
 public:
  Summary(const Cell& cell, const LaunchFacts& facts) : cell_(cell), facts_(facts) {
    record_.cell_id = cell.id;
    record_.cell_hash = cell.hash;
    record_.suite = cell.suite;
    record_.launch = facts.launch;
    record_.attempt = facts.attempt;
    record_.status = facts.status;
    record_.reason = facts.reason;
    record_.started_at = facts.started_at;
    record_.duration_s = facts.duration_s;
    record_.perturbed = is_perturbed(cell);
  }

  LaunchRecord make() {
    const bool complete = merge_steps();
    if (complete) {
      compilation();
      find_window();
      times();
      rates();
      memory();
    }
    const auto why = facts_.status == Status::ok ? std::string("the worker did not report it")
                                                 : fmt::format("the launch ended as {}", to_string(facts_.status));
    for (const auto& metric : metric_catalogue()) {
      if (record_.metrics.count(metric.name) == 0) record_.metrics[metric.name] = {std::nullopt, metric.unit, why};
    }
    if (facts_.status == Status::ok) {
      if (cell_.price_per_gpu_hour == 0) absent("cost", "the suite gives no price_per_gpu_hour");
      if (cell_.device == "cpu") {
        absent("outside_memory", "a CPU has no device memory outside the allocator");
        absent("peak_active", "the CPU allocator keeps no cache");
        absent("peak_reserved", "the CPU allocator keeps no cache");
        absent("fragmentation", "the CPU allocator keeps no cache");
        absent("mfu", "no peak rate is known for this device; the suite may give peak_tflops");
      }
      if (is_fp8(cell_.precision)) absent("mfu", "fp8 has no MFU: part of the step stays bf16, with another peak");
    }
    modes();
    inside();
    disturbances();
    details();
    return std::move(record_);
  }

 private:
  void absent(const char* name, const char* why) {
    auto& metric = record_.metrics[name];
    if (!metric.value) metric.absent = why;
  }

  void put(const char* name, std::optional<double> value, std::string unit = "") {
    if (!value) return;
    record_.metrics[name] = {value, unit.empty() ? find_metric(name)->unit : std::move(unit), ""};
  }

  void fail(Status status, std::string reason) {
    if (record_.status != Status::ok) return;
    record_.status = status;
    record_.reason = std::move(reason);
  }

  /// Per step the slowest rank. False when there is nothing to measure.
  bool merge_steps() {
    const auto& ranks = facts_.ranks;
    if (ranks.empty() || static_cast<int>(ranks.size()) != cell_.ddp.ranks) return false;
    const auto steps = ranks.front().step_ms.size();
    for (const auto& rank : ranks) {
      if (rank.step_ms.size() != steps || rank.measured_from != ranks.front().measured_from) {
        fail(Status::crashed, fmt::format("rank {} reports {} steps measured from {}, rank {} reports {} from {}",
                                          rank.rank, rank.step_ms.size(), rank.measured_from, ranks.front().rank, steps,
                                          ranks.front().measured_from));
        return false;
      }
    }
    if (steps == 0 || ranks.front().measured_from >= steps) {
      fail(Status::crashed, "the record holds no measured step");
      return false;
    }
    step_ms_.assign(steps, 0);
    for (const auto& rank : ranks) {
      std::transform(step_ms_.begin(), step_ms_.end(), rank.step_ms.begin(), step_ms_.begin(),
                     [](double a, double b) { return std::max(a, b); });
    }
    return true;
  }

  /// 2 %, or half of the throughput's tolerance where the suite says that it is far wider: a shift that no verdict
  /// could rest on must not throw a launch away.
  double smallest_shift() const {
    const auto tolerance = cell_.tolerance.find("throughput");
    if (tolerance == cell_.tolerance.end() || !tolerance->second.relative) return 0.02;
    return std::max(0.02, *tolerance->second.relative / 2);
  }

  /// Steps behind the warm-up that compile are not steps of one program, whatever their times say; steps that compute
  /// something else are none at all.
  void compilation() {
    if (const auto wrong = disagreement(facts_.ranks); !wrong.empty()) fail(Status::incorrect, wrong);
    if (const auto late = late_compilation(facts_.ranks); !late.empty()) {
      compiled_late_ = record_.status == Status::ok;
      fail(Status::unsteady, late);
    }
  }

  void find_window() {
    window_ = stats::find_steady_window(step_ms_, facts_.ranks.front().measured_from, smallest_shift());
    if (!window_.steady) fail(Status::unsteady, window_.reason);
    steady_.assign(step_ms_.begin() + static_cast<std::ptrdiff_t>(window_.begin),
                   step_ms_.begin() + static_cast<std::ptrdiff_t>(window_.end));
    steady_s_ = std::accumulate(steady_.begin(), steady_.end(), 0.0) / 1e3;
    if (!steady_.empty() && steady_s_ <= 0)
      fail(Status::crashed, "every measured step took 0 ms: too short to measure");
  }

  void times() {
    const auto init = max_over(facts_.ranks, init_seconds);
    const auto first = max_over(facts_.ranks, [](const RankRecord& rank) {
      return rank.first_step_s ? rank.first_step_s : std::optional<double>(rank.step_ms.front() / 1e3);
    });
    put("init_latency", init);
    put("first_step_latency", first);
    put("step_time", stats::median(steady_));
    if (const auto last = stats::last_unsettled_step(step_ms_, window_); last && init && first) {
      double seconds = *init + *first;
      for (std::size_t i = 1; i <= *last; ++i) seconds += step_ms_[i] / 1e3;
      put("time_to_steady", seconds);
    }
  }

  void rates() {
    if (steady_s_ <= 0) return;
    double work = 0;
    for (const auto& rank : facts_.ranks) work += rank.work_per_step;
    if (work <= 0) return;
    const auto ranks = static_cast<double>(facts_.ranks.size());
    const auto unit = facts_.ranks.front().work_unit;
    const double throughput = work * static_cast<double>(steady_.size()) / steady_s_;
    put("throughput", throughput, unit + "/s");
    put("throughput_per_gpu", throughput / ranks, unit + "/s");
    if (cell_.price_per_gpu_hour > 0) {
      put("cost", cell_.price_per_gpu_hour * ranks / 3600 / throughput * 1e6, "price/M " + unit);
    }
    double tflops = 0, mfu = 0;
    for (const auto& rank : facts_.ranks) {
      if (!rank.flops_per_step) return;
      const double rate = *rank.flops_per_step * static_cast<double>(steady_.size()) / steady_s_ / 1e12;
      tflops += rate / ranks;
      mfu += rank.peak_tflops ? 100 * rate / *rank.peak_tflops / ranks : 0;
    }
    put("tflops", tflops);
    if (mfu > 0 && !is_fp8(cell_.precision)) put("mfu", mfu);
  }

  /// The allocator's counters, reset after the warm-up, do not see what lies in the pools of captured graphs: a peak is
  /// never below that, and not known where a worker does not say what they hold.
  std::optional<double> with_pools(const RankRecord& rank, const std::optional<double>& peak_mib) const {
    if (!peak_mib || pools_unknown(rank)) return std::nullopt;
    return std::max(*peak_mib, graph_pools_mib(rank).value_or(0));
  }

  bool pools_unknown(const RankRecord& rank) const {
    return cell_.device == "cuda" && promises_graph_launches(cell_.compile) && !graph_pools_mib(rank);
  }

  void memory() {
    const auto& ranks = facts_.ranks;
    put("peak_memory",
        max_over(ranks, [&](const RankRecord& rank) { return with_pools(rank, rank.memory_steady.allocated_mib); }));
    put("peak_memory_first_step",
        max_over(ranks, [](const RankRecord& rank) { return rank.memory_first_step.allocated_mib; }));
    put("peak_active",
        max_over(ranks, [&](const RankRecord& rank) { return with_pools(rank, rank.memory_steady.active_mib); }));
    put("peak_reserved", max_over(ranks, [](const RankRecord& rank) { return rank.memory_steady.reserved_mib; }));
    put("fragmentation", max_over(ranks, [&](const RankRecord& rank) -> std::optional<double> {
          const auto& steady = rank.memory_steady;
          const auto allocated_mib = with_pools(rank, steady.allocated_mib);
          if (!allocated_mib || steady.reserved_mib.value_or(0) <= 0) return std::nullopt;
          return 100 * (1 - *allocated_mib / *steady.reserved_mib);
        }));
    put("outside_memory", max_over(ranks, [](const RankRecord& rank) { return rank.outside_mib; }));
    if (std::any_of(ranks.begin(), ranks.end(), [&](const RankRecord& rank) { return pools_unknown(rank); })) {
      for (const auto* name : {"peak_memory", "peak_active", "fragmentation"})
        absent(name, "the worker does not say what the pools of its CUDA graphs hold");
    }
  }

  /// What compiled modes and the comparison with the reference tell, as metrics or as reasons.
  void modes() {
    if (facts_.status != Status::ok) return;
    const auto found = mode_metrics(cell_, facts_.ranks);
    for (const auto& [name, value] : found.metrics) put(name.c_str(), value);
    for (const auto& [name, reason] : found.absent) absent(name.c_str(), reason.c_str());
  }

  /// Host and device clocks of the measured steps; a gap means that the steps' times miss something.
  void compare_clocks(Json& notes) const {
    for (const auto& rank : facts_.ranks) {
      const auto wall = rank.detail.find("wall");
      if (wall == rank.detail.end() || !wall->is_object()) continue;
      const auto host = wall->value("measured_wall_s", 0.0);
      const auto device = wall->value("measured_device_s", 0.0);
      if (device > 0 && host > 1.1 * device + 0.05) {
        notes.push_back(
            fmt::format("rank {}: the host saw {:.3f} s for steps that sum to {:.3f} s", rank.rank, host, device));
      }
    }
  }

  /// The traced pass: its metrics or the reason why there are none, and whether the settings took.
  void inside() {
    if (record_.status != Status::ok && record_.status != Status::unsteady) return;
    const auto traces = trace::analyse("", facts_.timelines);
    auto found = summarise_timelines(traces, facts_.ranks, steady_);
    for (const auto& [name, value] : found.metrics) put(name.c_str(), value);
    auto why = facts_.trace_error.empty() ? found.why_none : facts_.trace_error;
    if (cell_.measure.trace_steps == 0) why = "no traced pass was asked for (measure.trace_steps: 0)";
    if (why.empty()) why = "the traced pass does not give it";
    for (const auto& name : timeline_metrics()) absent(name.c_str(), why.c_str());
    for (const auto& [name, reason] : found.absent) absent(name.c_str(), reason.c_str());
    timeline_ = std::move(found.detail);
    timeline_note_ = std::move(found.note);
    visibility_ = trace::visibility_json(traces);
    settings_ = judge_settings(cell_, facts_.ranks, traces.ranks, facts_.nccl_logs);
    if (const auto reason = ineffective_reason(settings_); !reason.empty()) fail(Status::ineffective, reason);
  }

  /// A disturbance explains a launch that is unsteady, unless it compiled; one that failed has failed by itself.
  void disturbances() {
    if (!facts_.health) return;
    health_ = judge_health(*facts_.health, facts_.spans, cell_.device == "cpu");
    if (health_.disturbed.empty()) return;
    auto reason = fmt::format("{}", fmt::join(health_.disturbed, "; "));
    const bool explained = record_.status == Status::ok || (record_.status == Status::unsteady && !compiled_late_);
    if (!explained) {
      health_.notes.push_back("the launch was disturbed too: " + reason);
      return;
    }
    if (record_.status == Status::unsteady) reason += "; unsteady: " + record_.reason;
    record_.status = Status::disturbed;
    record_.reason = std::move(reason);
  }

  void details() {
    auto& detail = record_.detail;
    auto ranks = Json::array();
    for (const auto& rank : facts_.ranks) ranks.push_back(to_json(rank));
    auto notes = Json::array();
    compare_clocks(notes);
    if (!window_.note.empty()) notes.push_back(window_.note);
    if (!timeline_note_.empty()) notes.push_back(timeline_note_);
    growing_memory(notes);
    for (const auto& note : health_.notes) notes.push_back(note);
    if (cell_.device == "cpu") {
      for (const auto& note : usage_notes(facts_.ranks)) notes.push_back(note);
    }
    if (facts_.health) detail["health"] = health_json(*facts_.health, facts_.spans);
    detail["ranks"] = ranks;
    if (!timeline_.empty()) detail["timeline"] = timeline_;
    if (!settings_.empty()) detail["settings"] = to_json(settings_);
    memory_inside(detail);
    mode_parts(detail);
    communication_parts(detail);
    detail["evidence"] = facts_.evidence;
    detail["notes"] = notes;
    if (step_ms_.empty()) return;
    detail["samples"] = {{"step_ms", step_ms_}};
    detail["window"] = {{"begin", window_.begin}, {"end", window_.end}, {"steady", window_.steady}};
    if (const auto losses = facts_.ranks.front().detail.find("losses"); losses != facts_.ranks.front().detail.end()) {
      detail["losses"] = *losses;
    }
  }

  /// Memory that grows from step to step ends in an oom one day; a step's own tensors come and go.
  void growing_memory(Json& notes) const {
    constexpr double noise_mib = 0.001;
    for (const auto& rank : facts_.ranks) {
      const auto inside = rank.detail.find("memory_inside");
      if (inside == rank.detail.end()) continue;
      const auto growth = inside->value("growth_mib_per_step", 0.0);
      if (growth > noise_mib)
        notes.push_back(fmt::format("rank {}: allocated memory grows by {:.3g} MiB a step", rank.rank, growth));
    }
  }

  /// Of the rank with the highest peak.
  void memory_inside(Json& detail) const {
    double highest = -1;
    for (const auto& rank : facts_.ranks) {
      const auto inside = rank.detail.find("memory_inside");
      if (inside == rank.detail.end() || rank.memory_steady.allocated_mib.value_or(0) <= highest) continue;
      highest = rank.memory_steady.allocated_mib.value_or(0);
      detail["memory"] = *inside;
    }
  }

  void communication_parts(Json& detail) const {
    if (auto over_ranks = merge_communication(facts_.ranks); !over_ranks.is_null())
      detail["communication"] = std::move(over_ranks);
    if (facts_.nccl_logs.empty()) return;
    detail["nccl"] = nccl_json(facts_.nccl_logs);
    if (auto init = nccl_init_json(facts_.nccl_logs); !init.empty()) detail["nccl_init"] = std::move(init);
  }

  /// Of rank 0; the comparison with the reference of the rank that is farthest from it.
  void mode_parts(Json& detail) const {
    if (!visibility_.is_null()) detail["visibility"] = visibility_;
    if (facts_.ranks.empty()) return;
    const auto copy = [&](const RankRecord& rank, const char* key) {
      if (const auto found = rank.detail.find(key); found != rank.detail.end()) detail[key] = *found;
    };
    for (const char* key : {"compile", "checkpoint", "ir_census", "parity"}) copy(facts_.ranks.front(), key);
    if (const auto* worst = worst_parity(facts_.ranks)) copy(*worst, "parity");
  }

  const Cell& cell_;
  const LaunchFacts& facts_;
  LaunchRecord record_;
  std::vector<double> step_ms_, steady_;
  double steady_s_ = 0;
  stats::SteadyWindow window_;
  HealthJudgement health_;
  bool compiled_late_ = false;
  Json timeline_ = Json::object();
  std::string timeline_note_;
  Json visibility_;
  std::vector<Setting> settings_;
};

}  // namespace

LaunchRecord summarise(const Cell& cell, const LaunchFacts& facts) {
  return Summary(cell, facts).make();
}

}  // namespace stepgauge::summary
