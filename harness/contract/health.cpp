#include "contract/health.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace stepgauge {
namespace {

constexpr std::size_t most_samples = 1000;

constexpr std::array<std::pair<std::uint64_t, const char*>, 8> names{{
    {throttle::application_clocks, "application clocks"},
    {throttle::software_power_cap, "software power cap"},
    {throttle::hardware_slowdown, "hardware slowdown"},
    {throttle::sync_boost, "sync boost"},
    {throttle::software_thermal, "software thermal slowdown"},
    {throttle::hardware_thermal, "hardware thermal slowdown"},
    {throttle::power_brake, "hardware power brake"},
    {throttle::display_clocks, "display clocks"},
}};

/// Milliseconds and tenths are far finer than what is sampled, and a fifth of the text of a full double.
double rounded(double value) {
  return std::round(value * 1000) / 1000 + 0.0;  // no "-0.0"
}

/// The samples that are written: all, or every second, third, ... and the last.
template <typename Sample>
std::vector<const Sample*> kept(const std::vector<Sample>& samples) {
  std::vector<const Sample*> out;
  const auto stride = std::max<std::size_t>(1, (samples.size() + most_samples - 1) / most_samples);
  for (std::size_t i = 0; i < samples.size(); i += stride) out.push_back(&samples[i]);
  if (!out.empty() && out.back() != &samples.back()) out.back() = &samples.back();
  return out;
}

/// Adds a list of one value a sample, null where it was not read; nothing when it never was.
template <typename Sample, typename Value>
void add_column(Json& columns, const char* name, const std::vector<const Sample*>& samples, Value value) {
  auto column = Json::array();
  bool known = false;
  for (const auto* sample : samples) {
    const auto one = value(*sample);
    known = known || one.has_value();
    column.push_back(one ? Json(*one) : Json(nullptr));
  }
  if (known) columns[name] = std::move(column);
}

template <typename Sample>
Json times_of(const std::vector<const Sample*>& samples) {
  auto out = Json::array();
  for (const auto* sample : samples) out.push_back(rounded(sample->t_s));
  return out;
}

auto rounded_member(std::optional<double> DeviceSample::*member) {
  return [member](const DeviceSample& sample) {
    const auto& value = sample.*member;
    return value ? std::optional<double>(rounded(*value)) : std::nullopt;
  };
}

Json device_columns(const std::vector<DeviceSample>& all) {
  const auto samples = kept(all);
  Json out{{"t_s", times_of(samples)}};
  add_column(out, "sm_mhz", samples, rounded_member(&DeviceSample::sm_mhz));
  add_column(out, "memory_mhz", samples, rounded_member(&DeviceSample::memory_mhz));
  add_column(out, "power_w", samples, rounded_member(&DeviceSample::power_w));
  add_column(out, "temperature_c", samples, rounded_member(&DeviceSample::temperature_c));
  add_column(out, "memory_used_mib", samples, rounded_member(&DeviceSample::memory_used_mib));
  add_column(out, "throttle_bits", samples, [](const DeviceSample& sample) { return sample.throttle; });
  add_column(out, "ecc_uncorrected", samples, [](const DeviceSample& sample) { return sample.ecc_uncorrected; });
  return out;
}

struct Seen {
  double first_s = 0, last_s = 0;
  std::size_t samples = 0;
  void at(double t_s) {
    if (samples++ == 0) first_s = t_s;
    last_s = t_s;
  }
};

Json seen_json(const Seen& seen) {
  return {{"samples", seen.samples}, {"first_s", rounded(seen.first_s)}, {"last_s", rounded(seen.last_s)}};
}

Json throttle_json(const std::vector<DeviceSample>& samples) {
  auto out = Json::array();
  for (const auto& [bit, name] : names) {
    Seen seen;
    for (const auto& sample : samples) {
      if ((sample.throttle.value_or(0) & bit) != 0) seen.at(sample.t_s);
    }
    if (seen.samples == 0) continue;
    auto item = seen_json(seen);
    item["reason"] = name;
    out.push_back(std::move(item));
  }
  return out;
}

const char* owner_name(ProcessOwner owner) {
  return owner == ProcessOwner::launch ? "launch" : owner == ProcessOwner::other ? "other" : "unseen";
}

Json processes_json(const std::vector<DeviceSample>& samples) {
  std::map<std::pair<std::int64_t, ProcessOwner>, std::pair<Seen, std::optional<double>>> found;
  for (const auto& sample : samples) {
    if (!sample.processes) continue;
    for (const auto& process : *sample.processes) {
      auto& [seen, peak_mib] = found[{process.pid, process.owner}];
      seen.at(sample.t_s);
      if (process.used_mib) peak_mib = std::max(peak_mib.value_or(0), *process.used_mib);
    }
  }
  auto out = Json::array();
  for (const auto& [key, value] : found) {
    auto item = seen_json(value.first);
    item["pid"] = key.first;
    item["owner"] = owner_name(key.second);
    if (value.second) item["peak_used_mib"] = rounded(*value.second);
    out.push_back(std::move(item));
  }
  return out;
}

template <typename Sample, typename Known>
bool any_of(const std::vector<Sample>& samples, Known known) {
  return std::any_of(samples.begin(), samples.end(), known);
}

Json device_json(const DeviceHealth& device) {
  Json out{{"index", device.index}, {"samples", device_columns(device.samples)}};
  if (!device.uuid.empty()) out["uuid"] = device.uuid;
  if (device.sm_max_mhz) out["sm_max_mhz"] = *device.sm_max_mhz;
  if (any_of(device.samples, [](const auto& sample) { return sample.throttle.has_value(); })) {
    out["throttle"] = throttle_json(device.samples);
  }
  if (any_of(device.samples, [](const auto& sample) { return sample.processes.has_value(); })) {
    out["processes"] = processes_json(device.samples);
  }
  if (device.xids) {
    out["xids"] = Json::array();
    for (const auto& event : *device.xids) out["xids"].push_back({{"t_s", rounded(event.t_s)}, {"xid", event.xid}});
  }
  return out;
}

/// Share of the ticks since the sample before; null where the two cannot be told apart.
Json steal_column(const std::vector<const HostSample*>& samples) {
  auto out = Json::array();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto* before = i == 0 ? nullptr : samples[i - 1];
    const auto& now = samples[i]->cpu;
    const bool known = before != nullptr && before->cpu && now && now->total > before->cpu->total;
    out.push_back(known && now->steal >= before->cpu->steal
                      ? Json(rounded(100.0 * static_cast<double>(now->steal - before->cpu->steal) /
                                     static_cast<double>(now->total - before->cpu->total)))
                      : Json(nullptr));
  }
  return out;
}

Json host_columns(const std::vector<HostSample>& all) {
  const auto samples = kept(all);
  Json out{{"t_s", times_of(samples)}};
  if (any_of(all, [](const auto& sample) { return sample.cpu.has_value(); })) {
    out["steal_percent"] = steal_column(samples);
  }
  add_column(out, "procs_running", samples, [](const HostSample& sample) { return sample.procs_running; });
  return out;
}

Json rank_json(const RankProcessHealth& rank) {
  const auto samples = kept(rank.samples);
  Json columns{{"t_s", times_of(samples)}};
  add_column(columns, "voluntary_switches", samples, [](const RankSample& s) { return s.voluntary_switches; });
  add_column(columns, "involuntary_switches", samples, [](const RankSample& s) { return s.involuntary_switches; });
  add_column(columns, "minor_faults", samples, [](const RankSample& s) { return s.minor_faults; });
  add_column(columns, "major_faults", samples, [](const RankSample& s) { return s.major_faults; });
  return {{"rank", rank.rank}, {"pid", rank.pid}, {"samples", std::move(columns)}};
}

}  // namespace

std::vector<std::string> throttle_names(std::uint64_t reasons) {
  std::vector<std::string> out;
  for (const auto& [bit, name] : names) {
    if ((reasons & bit) != 0) out.emplace_back(name);
  }
  return out;
}

Json to_json(const HealthSamples& health) {
  Json host = Json::object();
  if (!health.host.empty()) host["samples"] = host_columns(health.host);
  host["ranks"] = Json::array();
  for (const auto& rank : health.ranks) host["ranks"].push_back(rank_json(rank));
  Json out{{"period_s", health.period_s},
           {"sampler_cpu_s", health.sampler_cpu_s},
           {"devices", Json::array()},
           {"host", std::move(host)}};
  for (const auto& device : health.devices) out["devices"].push_back(device_json(device));
  if (!health.devices_absent.empty()) out["devices_absent"] = health.devices_absent;
  return out;
}

}  // namespace stepgauge
