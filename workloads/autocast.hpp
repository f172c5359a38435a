#pragma once
// Autocast for one scope.
#include <torch/torch.h>

#include <optional>

namespace stepgauge::workloads {

/// What autocast is set to on a device's type now.
struct AutocastState {
  bool enabled = false;
  at::ScalarType dtype = at::kFloat;

  static AutocastState of(torch::DeviceType device);
};

/// Restores what was there and clears the cast cache at the outermost scope.
class AutocastScope {
 public:
  /// nullopt: nothing is touched.
  AutocastScope(torch::Device device, std::optional<torch::Dtype> dtype);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  torch::DeviceType device_;
  bool active_;
  AutocastState was_;
};

}  // namespace stepgauge::workloads
