#include "machine/health_probes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "machine/proc_files.hpp"

namespace stepgauge::machine {
namespace {

constexpr int deepest_tree = 64;

std::optional<ProcessFaults> stat_of(std::int64_t pid) {
  const auto text = read_proc_file(fmt::format("/proc/{}/stat", pid));
  return text ? process_faults(*text) : std::nullopt;
}

ProcessOwner look_up(std::int64_t pid) {
  auto at = pid;
  for (int i = 0; i < deepest_tree && at > 0; ++i) {
    if (at == ::getpid()) return ProcessOwner::launch;
    const auto process = stat_of(at);
    if (!process) break;
    at = process->parent;
    // Parent 0: the top of this PID namespace was reached.
    if (at == 0) return ProcessOwner::other;
  }
  return ProcessOwner::unseen;
}

}  // namespace

ProcessOwner ProcessOwners::of(std::int64_t pid) {
  const auto known = known_.find(pid);
  if (known != known_.end()) return known->second;
  const auto owner = look_up(pid);
  if (owner != ProcessOwner::unseen) known_[pid] = owner;
  return owner;
}

DeviceProbe::DeviceProbe(const std::vector<int>& wanted) {
  const auto* nvml = wanted.empty() ? nullptr : Nvml::instance();
  if (nvml == nullptr) {
    if (!wanted.empty()) absent = Nvml::absent();
    return;
  }
  for (const int index : wanted) {
    const auto found = nvml_index(index);
    if (!found) {
      absent = fmt::format("NVML has no GPU {}", index);
      continue;
    }
    nvml_.push_back(*found);
    devices.push_back({index, nvml->uuid(*found), nvml->sm_max_mhz(*found), {}, std::nullopt});
  }
  xids_ = nvml->watch_xids(nvml_);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (xids_->watches(i)) devices[i].xids.emplace();
  }
}

void DeviceProbe::sample(double t_s) {
  if (devices.empty()) return;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    auto one = Nvml::instance()->sample(nvml_[i]);
    one.t_s = t_s;
    if (one.processes) {
      for (auto& process : *one.processes) process.owner = owners_.of(process.pid);
    }
    devices[i].samples.push_back(std::move(one));
  }
  for (const auto& event : xids_->poll()) devices[event.device].xids->push_back({t_s, event.xid});
}

HostProbe::HostProbe() : cores_known_(::sched_getaffinity(0, sizeof cores_, &cores_) == 0) {}

HostSample HostProbe::sample(double t_s) const {
  HostSample out;
  out.t_s = t_s;
  const auto text = read_proc_file("/proc/stat");
  if (!text) return out;
  out.cpu = cpu_ticks(*text, [&](int core) {
    return !cores_known_ || (core >= 0 && core < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(core), &cores_));
  });
  out.procs_running = procs_running(*text);
  return out;
}

std::optional<RankSample> sample_process(std::int64_t pid, double t_s) {
  const auto status = read_proc_file(fmt::format("/proc/{}/status", pid));
  const auto stat = stat_of(pid);
  if (!status || !stat) return std::nullopt;
  RankSample out;
  out.t_s = t_s;
  out.voluntary_switches = status_number(*status, "voluntary_ctxt_switches");
  out.involuntary_switches = status_number(*status, "nonvoluntary_ctxt_switches");
  out.minor_faults = stat->minor_faults;
  out.major_faults = stat->major_faults;
  return out;
}

}  // namespace stepgauge::machine
