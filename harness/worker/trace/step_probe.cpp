#include "worker/trace/step_probe.hpp"

#include <ATen/record_function.h>

#include <array>
#include <mutex>
#include <string_view>

namespace stepgauge::worker {
namespace {

using Types = std::map<std::string, std::map<std::string, int>>;

// Backward may run on other threads.
std::mutex mutex;
Types* current_types = nullptr;
thread_local int not_the_models = 0;

/// What the hardware does most of a step's arithmetic in: matrix products, convolutions, attention.
bool is_heavy(std::string_view name) {
  static constexpr std::array<std::string_view, 11> exact{"aten::mm",
                                                          "aten::addmm",
                                                          "aten::bmm",
                                                          "aten::baddbmm",
                                                          "aten::_scaled_mm",
                                                          "aten::convolution_overrideable",
                                                          "aten::cudnn_convolution",
                                                          "aten::mkldnn_convolution",
                                                          "aten::convolution_backward",
                                                          "aten::linear_backward",
                                                          "aten::_addmm_activation"};
  for (const auto known : exact) {
    if (name == known) return true;
  }
  return name.starts_with("aten::_scaled_dot_product_");
}

/// The inputs are there only while the operator begins.
std::unique_ptr<at::ObserverContext> count_batch(const at::RecordFunction& function) {
  const std::string_view name = function.name();
  if (!is_heavy(name) || not_the_models > 0) return nullptr;
  for (const auto& input : function.inputs()) {
    if (!input.isTensor() || !input.toTensor().defined()) continue;
    const std::lock_guard lock(mutex);
    if (current_types != nullptr) ++(*current_types)[std::string(name)][c10::toString(input.toTensor().scalar_type())];
    break;
  }
  return nullptr;
}

void raise(std::optional<double>& highest, const std::optional<double>& value) {
  if (value && (!highest || *highest < *value)) highest = value;
}

}  // namespace

NotTheModels::NotTheModels() {
  ++not_the_models;
}
NotTheModels::~NotTheModels() {
  --not_the_models;
}

void StepProbe::take_peaks() {
  const auto now = room_.peaks();
  raise(peaks_.allocated_mib, now.allocated_mib);
  raise(peaks_.active_mib, now.active_mib);
  raise(peaks_.reserved_mib, now.reserved_mib);
}

void StepProbe::begin_step() {
  phases_ = Json::array();
  peaks_ = {};
  types_.clear();
  if (types_wanted_) {
    current_types = &types_;
    observer_ = at::addGlobalCallback(
        at::RecordFunctionCallback(&count_batch).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  }
  allocations_before_ = room_.allocations();
  room_.reset_peaks();
}

void StepProbe::close_phase() {
  if (current_.empty()) return;
  const auto now = room_.current_memory();
  const auto peaks = room_.peaks();
  Json item{{"phase", current_}};
  if (now.allocated_mib) item["allocated_mib"] = *now.allocated_mib;
  if (peaks.allocated_mib) item["peak_mib"] = *peaks.allocated_mib;
  if (now.reserved_mib) item["reserved_mib"] = *now.reserved_mib;
  phases_.push_back(std::move(item));
  current_.clear();
}

void StepProbe::phase(const char* name) {
  close_phase();
  take_peaks();
  room_.reset_peaks();
  current_ = name;
}

void StepProbe::end_step() {
  close_phase();
  take_peaks();
  const auto now = room_.allocations();
  if (now && allocations_before_) allocations_ = *now - *allocations_before_;
  if (!types_wanted_) return;
  at::removeCallback(observer_);
  const std::lock_guard lock(mutex);
  current_types = nullptr;
}

Json StepProbe::memory() const {
  Json out{{"phases", phases_}};
  if (allocations_) out["allocations_per_step"] = *allocations_;
  if (const auto block = room_.largest_free_mib()) out["largest_free_mib"] = *block;
  if (const auto retries = room_.allocation_retries()) out["retries"] = *retries;
  return out;
}

Json StepProbe::operator_types() const {
  return types_;
}

}  // namespace stepgauge::worker
