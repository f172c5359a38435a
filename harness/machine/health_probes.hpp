#pragma once
// One look each at the devices and the host of a launch; the thread that looks again and again is HealthSampler.
#include <sched.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contract/health.hpp"
#include "machine/nvml.hpp"

namespace stepgauge::machine {

/// Whose the processes on a device are: the launch's when they descend from this process, which every process of a
/// launch does as long as this process is its subreaper.
class ProcessOwners {
 public:
  ProcessOwner of(std::int64_t pid);

 private:
  std::map<std::int64_t, ProcessOwner> known_;
};

/// The GPUs of a launch through NVML.
class DeviceProbe {
 public:
  /// `devices` as CUDA counts them; empty for a launch on the CPU.
  explicit DeviceProbe(const std::vector<int>& devices);

  /// Adds one sample to every device, and the Xids that came in.
  void sample(double t_s);
  std::vector<DeviceHealth> devices;
  std::string absent;  ///< why a device of the launch is not among `devices`

 private:
  std::vector<int> nvml_;
  std::unique_ptr<Nvml::XidWatch> xids_;
  ProcessOwners owners_;
};

/// The cores that this process, and so the ranks, may use.
class HostProbe {
 public:
  HostProbe();
  HostSample sample(double t_s) const;

 private:
  cpu_set_t cores_;
  bool cores_known_;
};

/// Counters of a process; nullopt once it has ended.
std::optional<RankSample> sample_process(std::int64_t pid, double t_s);

}  // namespace stepgauge::machine
