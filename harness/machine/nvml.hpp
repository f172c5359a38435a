#pragma once
// NVML through dlopen, with prototypes of our own for the few calls used: the CLI links and needs no NVIDIA package.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace stepgauge::machine {

/// An NVML session: loaded and initialised once per process, on first use.
class Nvml {
 public:
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
  int nvlink_count(void* a, void* b) const;

  std::unique_ptr<Calls> calls_;
};

}  // namespace stepgauge::machine
