// What the health sampler asks of NVML, again and again.
#include <algorithm>

#include "machine/nvml_calls.hpp"

namespace stepgauge::machine {
namespace {

using namespace nvml;

constexpr int insufficient_size = 7;
constexpr std::size_t usual_processes = 64;
constexpr std::size_t most_events = 64;  // a queue that never ends must not hold the sampler

std::optional<double> as_double(std::optional<unsigned> value, double scale = 1) {
  return value ? std::optional<double>(scale * *value) : std::nullopt;
}

template <typename... Parameters, typename... Arguments>
std::optional<std::uint64_t> wide_number_of(int (*call)(Parameters...), Arguments... arguments) {
  unsigned long long value = 0;
  if (!ask(call, arguments..., &value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::vector<GpuProcess>> Nvml::processes(void* device) const {
  if (calls_->processes == nullptr) return std::nullopt;
  std::vector<ProcessInfo> found(usual_processes);
  auto count = static_cast<unsigned>(found.size());
  int error = calls_->processes(device, &count, found.data());
  if (error == insufficient_size) {  // `count` is how many there are; one may have started since
    found.resize(count + usual_processes);
    count = static_cast<unsigned>(found.size());
    error = calls_->processes(device, &count, found.data());
  }
  if (error != success) return std::nullopt;
  std::vector<GpuProcess> out;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, found.size()); ++i) {
    GpuProcess process{static_cast<pid_t>(found[i].pid), std::nullopt};
    if (found[i].used_memory != not_available) {
      process.used_mib = static_cast<double>(found[i].used_memory) / bytes_per_mib;
    }
    out.push_back(process);
  }
  return out;
}

DeviceSample Nvml::sample(int nvml_index) const {
  DeviceSample out;
  const Device gpu = device(nvml_index);
  if (gpu == nullptr) return out;
  out.sm_mhz = as_double(number_of(calls_->clock, gpu, clock_sm));
  out.memory_mhz = as_double(number_of(calls_->clock, gpu, clock_memory));
  out.power_w = as_double(number_of(calls_->power, gpu), 1e-3);
  out.temperature_c = as_double(number_of(calls_->temperature, gpu, temperature_gpu));
  out.memory_used_mib = memory_used_mib(nvml_index);
  out.throttle = wide_number_of(calls_->throttle, gpu);
  out.ecc_uncorrected = wide_number_of(calls_->ecc_errors, gpu, ecc_uncorrected, ecc_volatile);
  if (const auto found = processes(gpu)) {
    out.processes.emplace();
    for (const auto& one : *found) out.processes->push_back({one.pid, one.used_mib, ProcessOwner::unseen});
  }
  return out;
}

std::optional<double> Nvml::sm_max_mhz(int nvml_index) const {
  const Device gpu = device(nvml_index);
  return gpu == nullptr ? std::nullopt : as_double(number_of(calls_->max_clock, gpu, clock_sm));
}

std::unique_ptr<Nvml::XidWatch> Nvml::watch_xids(const std::vector<int>& nvml_indices) const {
  std::vector<void*> devices;
  for (const int index : nvml_indices) devices.push_back(device(index));
  return std::make_unique<XidWatch>(*calls_, devices);
}

Nvml::XidWatch::XidWatch(const Calls& calls, const std::vector<void*>& devices)
    : calls_(calls), devices_(devices), watched_(devices.size(), false) {
  if (calls.event_wait == nullptr || calls.event_set_free == nullptr) return;
  if (!ask(calls.event_set_create, &events_)) {
    events_ = nullptr;
    return;
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    unsigned long long supported = 0;
    watched_[i] = devices[i] != nullptr && ask(calls.events_supported, devices[i], &supported) &&
                  (supported & xid_event) != 0 && ask(calls.event_register, devices[i], xid_event, events_);
  }
}

Nvml::XidWatch::~XidWatch() {
  if (events_ != nullptr) calls_.event_set_free(events_);
}

std::vector<Nvml::XidWatch::Event> Nvml::XidWatch::poll() {
  std::vector<Event> out;
  if (std::find(watched_.begin(), watched_.end(), true) == watched_.end()) return out;
  EventData data{};
  for (std::size_t i = 0; i < most_events && ask(calls_.event_wait, events_, &data, 0u); ++i) {
    const auto found = std::find(devices_.begin(), devices_.end(), data.device);
    if ((data.type & xid_event) == 0 || found == devices_.end()) continue;
    out.push_back({static_cast<std::size_t>(found - devices_.begin()), data.data});
  }
  return out;
}

}  // namespace stepgauge::machine
