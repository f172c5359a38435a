#pragma once
// NVML through dlopen, with prototypes of our own for the few calls used: the CLI links and needs no NVIDIA package.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contract/health.hpp"
#include "machine/machine.hpp"

namespace stepgauge::machine {

/// An NVML session: loaded and initialised once per process, on first use. STEPGAUGE_NVML_LIBRARY names another library
/// than libnvidia-ml.so.1. Every call may be made from any thread.
class Nvml {
 public:
  class XidWatch;

  /// nullptr when there is no driver or no library; `absent()` says why.
  static const Nvml* instance();
  static const std::string& absent();

  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;
  std::string cuda_driver_version() const;  ///< e.g. "13.0"
  int device_count() const;
  std::string uuid(int nvml_index) const;
  Gpu describe(int nvml_index) const;
  GpuLink link(int nvml_a, int nvml_b) const;  ///< a and b are left as given
  std::optional<double> memory_used_mib(int nvml_index) const;

  /// Clocks, power, temperature, memory, ECC count, throttle reasons and processes as they are now; the owners of the
  /// processes are not looked up. `t_s` is 0.
  DeviceSample sample(int nvml_index) const;
  std::optional<double> sm_max_mhz(int nvml_index) const;
  /// Listens for Xids of these devices from now on; never nullptr. The watch must not outlive this session.
  std::unique_ptr<XidWatch> watch_xids(const std::vector<int>& nvml_indices) const;

 private:
  struct Calls;
  struct Session {
    std::unique_ptr<Nvml> nvml;
    std::string absent;
  };
  Nvml();
  static const Session& session();
  static std::unique_ptr<Nvml> load(std::string& why_not);
  void* device(int nvml_index) const;
  std::optional<std::vector<GpuProcess>> processes(void* device) const;
  int nvlink_count(void* a, void* b) const;

  std::unique_ptr<Calls> calls_;
};

/// The driver's queue of critical Xids; freed at the end.
class Nvml::XidWatch {
 public:
  struct Event {
    std::size_t device = 0;  ///< position in the list that the watch was made with
    std::uint64_t xid = 0;
  };

  XidWatch(const Calls& calls, const std::vector<void*>& devices);
  ~XidWatch();
  XidWatch(const XidWatch&) = delete;
  XidWatch& operator=(const XidWatch&) = delete;

  /// Whether the driver reports Xids of this device.
  bool watches(std::size_t device) const { return watched_.at(device); }
  /// What has come in since the last call; does not wait.
  std::vector<Event> poll();

 private:
  const Calls& calls_;
  std::vector<void*> devices_;
  std::vector<bool> watched_;
  void* events_ = nullptr;
};

}  // namespace stepgauge::machine
