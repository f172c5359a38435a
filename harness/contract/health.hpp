#pragma once
// How the devices, the host and the ranks fared during one launch, sampled from outside the ranks: the part "health" of
// a launch record. What could not be read is absent, never zero.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contract/json_io.hpp"

namespace stepgauge {

/// Why a GPU's clocks are held down: NVML's bits of "clocks event reasons", formerly "throttle reasons".
namespace throttle {
inline constexpr std::uint64_t idle = 0x001;
inline constexpr std::uint64_t application_clocks = 0x002;
inline constexpr std::uint64_t software_power_cap = 0x004;
inline constexpr std::uint64_t hardware_slowdown = 0x008;
inline constexpr std::uint64_t sync_boost = 0x010;
inline constexpr std::uint64_t software_thermal = 0x020;
inline constexpr std::uint64_t hardware_thermal = 0x040;
inline constexpr std::uint64_t power_brake = 0x080;
inline constexpr std::uint64_t display_clocks = 0x100;
}  // namespace throttle

/// The reasons in words, one a bit, without "idle"; unknown bits have no words.
std::vector<std::string> throttle_names(std::uint64_t reasons);

/// Whose a process on a device is. `unseen`: /proc shows no such process, so it lives in another PID namespace or has
/// just ended.
enum class ProcessOwner { launch, other, unseen };

struct DeviceProcess {
  std::int64_t pid = 0;
  std::optional<double> used_mib;  ///< absent where the driver does not tell
  ProcessOwner owner = ProcessOwner::unseen;
};

/// One look at one device. Times here and below are seconds since the start of the launch; the first sample is taken
/// before it and is negative.
struct DeviceSample {
  double t_s = 0;
  std::optional<double> sm_mhz, memory_mhz, power_w, temperature_c, memory_used_mib;
  std::optional<std::uint64_t> throttle;         ///< bits of namespace throttle
  std::optional<std::uint64_t> ecc_uncorrected;  ///< volatile count: since the driver was loaded
  std::optional<std::vector<DeviceProcess>> processes;
};

struct XidEvent {
  double t_s = 0;  ///< when it was read: at most one period after it happened
  std::uint64_t xid = 0;
};

struct DeviceHealth {
  int index = 0;  ///< as CUDA counts with CUDA_DEVICE_ORDER=PCI_BUS_ID
  std::string uuid;
  std::optional<double> sm_max_mhz;
  std::vector<DeviceSample> samples;
  std::optional<std::vector<XidEvent>> xids;  ///< absent: this driver or device does not report them
};

/// Times of the cores that the launch may use, summed over them, in the kernel's ticks since boot.
struct CpuTicks {
  std::uint64_t steal = 0, total = 0;
};

struct HostSample {
  double t_s = 0;
  std::optional<CpuTicks> cpu;
  std::optional<std::int64_t> procs_running;  ///< runnable threads of the whole machine
};

/// One look at the process of a rank; counts since it was started.
struct RankSample {
  double t_s = 0;
  std::optional<std::int64_t> voluntary_switches, involuntary_switches;  ///< of its main thread
  std::optional<std::int64_t> minor_faults, major_faults;                ///< of all its threads
};

struct RankProcessHealth {
  int rank = 0;
  std::int64_t pid = 0;
  std::vector<RankSample> samples;
};

struct HealthSamples {
  double period_s = 0;
  double sampler_cpu_s = 0;  ///< CPU time that the sampling itself took
  std::vector<DeviceHealth> devices;
  std::string devices_absent;    ///< why `devices` lacks devices of the launch; empty when it lacks none
  std::vector<HostSample> host;  ///< of launches on the CPU
  std::vector<RankProcessHealth> ranks;
};

/// When a rank said that it entered a phase, as read from its progress channel.
struct PhaseStart {
  std::string phase;
  double at_s = 0;
};

/// As the record keeps it: one list per quantity, beside the list of times. At most 1000 samples a device are written,
/// every second, third, ... of a longer launch; throttle reasons and processes are gathered from all of them.
Json to_json(const HealthSamples& health);

}  // namespace stepgauge
