#include "summary/health_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "stats/summary.hpp"

namespace stepgauge::summary {
namespace {

constexpr std::uint64_t disturbing =
    throttle::hardware_slowdown | throttle::software_thermal | throttle::hardware_thermal | throttle::power_brake;
constexpr std::size_t end_samples = 3;  // one low reading between two kernels is not a fall

/// The samples of a device that its launch is judged by.
struct Judged {
  std::vector<const DeviceSample*> samples;
  const char* what = "launch";
};

std::vector<const DeviceSample*> within(const std::vector<DeviceSample>& samples, const std::optional<Span>& span) {
  std::vector<const DeviceSample*> out;
  for (const auto& sample : samples) {
    if (span && span->holds(sample.t_s)) out.push_back(&sample);
  }
  return out;
}

Judged judged_samples(const DeviceHealth& device, const LaunchSpans& spans) {
  Judged out{within(device.samples, spans.measured), "measured steps"};
  if (out.samples.empty()) out = {within(device.samples, spans.after_first_step), "launch after its first step"};
  if (!out.samples.empty()) return out;
  out.what = "launch";
  for (const auto& sample : device.samples) out.samples.push_back(&sample);
  return out;
}

class DeviceRules {
 public:
  DeviceRules(const DeviceHealth& device, const LaunchSpans& spans, HealthJudgement& out)
      : device_(device),
        judged_(judged_samples(device, spans)),
        name_(fmt::format("GPU {}", device.index)),
        out_(out) {}

  void apply() {
    throttled();
    falling_clock();
    foreign_processes();
    ecc_errors();
    xids();
  }

 private:
  void disturbed(std::string reason) { out_.disturbed.push_back(name_ + ": " + std::move(reason)); }
  void note(std::string text) { out_.notes.push_back(name_ + ": " + std::move(text)); }

  void throttled() {
    std::map<std::uint64_t, std::size_t> seen;
    std::size_t known = 0;
    for (const auto* sample : judged_.samples) {
      if (!sample->throttle) continue;
      ++known;
      for (std::uint64_t bit = 1; bit <= throttle::display_clocks; bit <<= 1)
        seen[bit] += (*sample->throttle & bit) != 0;
    }
    for (const auto& [bit, count] : seen) {
      if (count == 0 || (bit != throttle::software_power_cap && (bit & disturbing) == 0)) continue;
      auto text =
          fmt::format("{} in {} of {} samples of the {}", throttle_names(bit).front(), count, known, judged_.what);
      // The power cap is where a loaded GPU normally stands; the others are faults of the machine.
      (bit & disturbing) != 0 ? disturbed(std::move(text)) : note(std::move(text));
    }
  }

  void falling_clock() {
    std::vector<double> clocks;
    const DeviceSample* last = nullptr;
    for (const auto* sample : judged_.samples) {
      if (!sample->sm_mhz) continue;
      clocks.push_back(*sample->sm_mhz);
      last = sample;
    }
    if (clocks.size() <= end_samples || (last->throttle.value_or(0) & ~throttle::idle) == 0) return;
    const auto level = stats::median(clocks);
    const auto end = stats::median({clocks.end() - end_samples, clocks.end()});
    if (level && end && *end < (1 - clock_drop) * *level) {
      disturbed(fmt::format("SM clock fell from {:.0f} to {:.0f} MHz in the {} ({})", *level, *end, judged_.what,
                            fmt::join(throttle_names(*last->throttle), ", ")));
    }
  }

  bool is_judged(const DeviceSample& sample) const {
    return std::binary_search(judged_.samples.begin(), judged_.samples.end(), &sample);  // in the order of the samples
  }

  /// One that ended a moment ago is not: it stands in the driver's list until its memory is freed.
  static bool is_large(const DeviceProcess& process) {
    return process.owner == ProcessOwner::other && process.used_mib.value_or(0) > foreign_memory_mib;
  }

  /// Where the driver numbers processes as this PID namespace does, the ranks stand in the list themselves. Elsewhere
  /// numbers mean nothing, and only what was there before the launch, or is too many, can be told from the ranks.
  void foreign_processes() {
    std::set<std::int64_t> own, before;
    for (const auto& sample : device_.samples) {
      if (!sample.processes) continue;
      for (const auto& process : *sample.processes) {
        if (process.owner == ProcessOwner::launch) own.insert(process.pid);
        if (sample.t_s < 0) before.insert(process.pid);
      }
    }
    own.empty() ? processes_by_count(before) : processes_by_owner(own);
  }

  void processes_by_owner(const std::set<std::int64_t>& own) {
    std::map<std::int64_t, std::optional<double>> found;
    for (const auto& sample : device_.samples) {
      if (!sample.processes) continue;
      for (const auto& process : *sample.processes) {
        if (own.contains(process.pid)) continue;
        if (is_large(process) || is_judged(sample)) keep_largest(found[process.pid], process.used_mib);
      }
    }
    report(found);
  }

  void processes_by_count(const std::set<std::int64_t>& before) {
    std::map<std::int64_t, std::optional<double>> found;
    std::set<std::int64_t> unknown;
    for (const auto& sample : device_.samples) {
      if (!sample.processes) continue;
      std::set<std::int64_t> now;
      for (const auto& process : *sample.processes) {
        if (before.contains(process.pid)) {
          if (is_large(process) || is_judged(sample)) keep_largest(found[process.pid], process.used_mib);
        } else if (is_judged(sample)) {
          now.insert(process.pid);
        }
      }
      if (now.size() > unknown.size()) unknown = std::move(now);
    }
    report(found);
    if (unknown.size() > 1) {
      disturbed(fmt::format("{} compute processes where the launch has one rank (pids {}) in the {}", unknown.size(),
                            fmt::join(unknown, ", "), judged_.what));
    }
  }

  static void keep_largest(std::optional<double>& largest, std::optional<double> value) {
    if (value) largest = std::max(largest.value_or(0), *value);
  }

  void report(const std::map<std::int64_t, std::optional<double>>& foreign) {
    for (const auto& [pid, used_mib] : foreign) {
      const auto memory = used_mib ? fmt::format("{:.0f} MiB", *used_mib) : std::string("memory unknown");
      disturbed(fmt::format("another compute process on it (pid {}, {})", pid, memory));
    }
  }

  void ecc_errors() {
    std::optional<std::uint64_t> first, most;
    for (const auto& sample : device_.samples) {
      if (!sample.ecc_uncorrected) continue;
      if (!first) first = sample.ecc_uncorrected;
      most = std::max(most.value_or(0), *sample.ecc_uncorrected);
    }
    if (first && *most > *first) disturbed(fmt::format("{} uncorrected ECC errors came in", *most - *first));
  }

  void xids() {
    if (!device_.xids) return;
    for (const auto& event : *device_.xids) disturbed(fmt::format("Xid {} at {:.1f} s", event.xid, event.t_s));
  }

  const DeviceHealth& device_;
  const Judged judged_;
  const std::string name_;
  HealthJudgement& out_;
};

/// Over the samples that enclose the measured steps, as near as they do; over all when no rank told of measured steps.
std::optional<double> steal_of(const std::vector<HostSample>& samples, const std::optional<Span>& measured) {
  const CpuTicks *begin = nullptr, *end = nullptr;
  bool enclosed = false;
  for (const auto& sample : samples) {
    if (!sample.cpu) continue;
    if (begin == nullptr || (measured && sample.t_s <= measured->from_s)) begin = &*sample.cpu;
    if (!enclosed) end = &*sample.cpu;
    enclosed = enclosed || (measured && sample.t_s >= measured->to_s);
  }
  if (begin == nullptr || end->total < begin->total + least_ticks || end->steal < begin->steal) return std::nullopt;
  return static_cast<double>(end->steal - begin->steal) / static_cast<double>(end->total - begin->total);
}

void stolen_time(const HealthSamples& health, const LaunchSpans& spans, HealthJudgement& out) {
  const auto share = steal_of(health.host, spans.measured);
  if (!share || *share <= steal_share) return;
  out.disturbed.push_back(fmt::format("host: the hypervisor stole {:.1f} % of the cores' time", 100 * *share));
}

/// Where the phase `name` begins and ends in what one rank told.
std::optional<Span> phase_span(const std::vector<PhaseStart>& phases, std::string_view name, double end_s) {
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (phases[i].phase == name) return Span{phases[i].at_s, i + 1 < phases.size() ? phases[i + 1].at_s : end_s};
  }
  return std::nullopt;
}

}  // namespace

LaunchSpans spans_of(const std::vector<std::vector<PhaseStart>>& ranks, double end_s) {
  LaunchSpans out;
  for (const auto& phases : ranks) {
    if (const auto one = phase_span(phases, "measure", end_s)) {
      if (!out.measured) out.measured = one;
      out.measured->from_s = std::min(out.measured->from_s, one->from_s);
      out.measured->to_s = std::max(out.measured->to_s, one->to_s);
    }
    if (const auto first = phase_span(phases, "first_step", end_s)) {
      if (!out.after_first_step) out.after_first_step = Span{first->to_s, end_s};
      out.after_first_step->from_s = std::min(out.after_first_step->from_s, first->to_s);
    }
  }
  return out;
}

HealthJudgement judge_health(const HealthSamples& health, const LaunchSpans& spans, bool cpu_cell) {
  HealthJudgement out;
  for (const auto& device : health.devices) DeviceRules(device, spans, out).apply();
  if (cpu_cell) stolen_time(health, spans, out);
  return out;
}

std::vector<std::string> usage_notes(const std::vector<RankRecord>& ranks) {
  std::vector<std::string> out;
  for (const auto& rank : ranks) {
    const auto usage = rank.detail.find("usage");
    const auto steps = rank.step_ms.size() - std::min(rank.measured_from, rank.step_ms.size());
    if (usage == rank.detail.end() || !usage->is_object() || steps == 0) continue;
    const auto switches = usage->find("involuntary_switches");
    if (switches == usage->end() || !switches->is_number()) continue;
    const double per_step = switches->get<double>() / static_cast<double>(steps);
    if (per_step <= involuntary_switches_per_step) continue;
    out.push_back(fmt::format("rank {}: {:.0f} involuntary context switches per measured step: its cores were shared",
                              rank.rank, per_step));
  }
  return out;
}

Json health_json(const HealthSamples& health, const LaunchSpans& spans) {
  auto out = to_json(health);
  if (spans.measured) out["measured"] = {{"from_s", spans.measured->from_s}, {"to_s", spans.measured->to_s}};
  return out;
}

}  // namespace stepgauge::summary
