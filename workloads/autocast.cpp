#include "workloads/autocast.hpp"

#include <ATen/autocast_mode.h>

namespace stepgauge::workloads {

AutocastState AutocastState::of(torch::DeviceType device) {
  if (!at::autocast::is_autocast_available(device)) return {};
  return {at::autocast::is_autocast_enabled(device), at::autocast::get_autocast_dtype(device)};
}

AutocastScope::AutocastScope(torch::Device device, std::optional<torch::Dtype> dtype)
    : device_(device.type()), active_(dtype.has_value()) {
  if (!active_) return;
  was_ = AutocastState::of(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, *dtype);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_.enabled);
  at::autocast::set_autocast_dtype(device_, was_.dtype);
}

}  // namespace stepgauge::workloads
